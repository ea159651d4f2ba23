/* sum_pieces: C = alpha (S_0 + S_1 + ...) + beta C in the triangle below the diagonal and on it.
 *
 * The idea: products whose k was divided left one matrix each; a thread adds up one element of all
 * of them, in the order of k and in f64, so the sum has the same bits in every run and is rounded
 * once.  Neighbouring threads read neighbouring addresses.  Limits: elements are loaded one at a
 * time, from matrices that are small beside what was multiplied. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/helpers/rounding.cuh"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */

__device__ __forceinline__ double widened(float v) {
  return v;
}
__device__ __forceinline__ double widened(double v) {
  return v;
}
__device__ __forceinline__ double widened(__half v) {
  return __half2float(v);
}
__device__ __forceinline__ double widened(__nv_bfloat16 v) {
  return __bfloat162float(v);
}
template <class Part> __device__ __forceinline__ Complex128 widened(Complex<Part> v) {
  return {v.re, v.im};
}

__device__ __forceinline__ double plus(double a, double b) {
  return a + b;
}
__device__ __forceinline__ Complex128 plus(Complex128 a, Complex128 b) {
  return {a.re + b.re, a.im + b.im};
}
__device__ __forceinline__ double times(double a, double b) {
  return a * b;
}
__device__ __forceinline__ Complex128 times(Complex128 a, Complex128 b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

double scalar(const double v[2], double) {
  return v[0];
}
Complex128 scalar(const double v[2], Complex128) {
  return {v[0], v[1]};
}

template <class T, class Piece>
__global__ void __launch_bounds__(COLS *ROWS)
    sum_pieces(Matrix<T> c, Matrix<const Piece> pieces, int64_t count, int64_t step,
               typename WideOf<Piece>::Type alpha, typename WideOf<Piece>::Type beta) {
  typedef typename WideOf<Piece>::Type Wide;
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < c.rows;
       row += (int64_t)gridDim.y * ROWS) {
    if (col > row) continue;
    const Piece *from = &pieces.at(row, col);
    Wide sum = widened(*from);
#pragma unroll 4
    for (int64_t i = 1; i < count; i++) sum = plus(sum, widened(from[i * step]));
    T *to = &c.at(row, col);
    sum = times(alpha, sum);
    round_to(to, is_zero(beta) ? sum : plus(sum, times(beta, widened(*to))));
  }
}

template <class T, class Piece> cudaError_t launch(const dm_piece_sum *p) {
  typedef typename WideOf<Piece>::Type Wide;
  const dim3 grid(blocks_for(divide_up(p->c.cols, COLS)),
                  blocks_for(divide_up(p->c.rows, ROWS), 65535));
  sum_pieces<T, Piece><<<grid, dim3(COLS, ROWS), 0, p->stream>>>(
      matrix_of<T>(p->c), matrix_of<const Piece>(p->pieces), p->count, p->step,
      scalar(p->alpha, Wide()), scalar(p->beta, Wide()));
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_sum_pieces(const dm_piece_sum *p) {
  if (p->pieces.dtype == DM_F32 && p->c.dtype != DM_F32)
    return with_one_of<__half, __nv_bfloat16>(
        p->c.dtype, [&](auto element) { return launch<decltype(element), float>(p); });
  return with_one_of<double, float, Complex64, Complex128>(
      p->c.dtype, [&](auto element) { return launch<decltype(element), decltype(element)>(p); });
}
