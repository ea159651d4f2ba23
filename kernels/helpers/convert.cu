/* convert: TO = FROM in another type, each element rounded once, as on the host.
 *
 * The idea: no element is reused, so memory bandwidth is the only limit: a thread moves two or four
 * elements of a row at once, and neighbouring threads access neighbouring addresses. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/helpers/rounding.cuh"

namespace {

constexpr int COLS = 32, ROWS = 8; /* threads of a block */

template <class T, int COUNT> struct alignas(COUNT * sizeof(T)) Few { T at[COUNT]; };

/* Widening to f64 is exact. */
template <class To, class From> __device__ __forceinline__ void convert_one(To *to, From v) {
  round_to(to, (double)v);
}
__device__ __forceinline__ void convert_one(__half *to, float v) {
  *to = __float2half_rn(v);
}
__device__ __forceinline__ void convert_one(__nv_bfloat16 *to, float v) {
  *to = __float2bfloat16_rn(v);
}
template <class To> __device__ __forceinline__ void convert_one(To *to, __half v) {
  round_to(to, (double)__half2float(v));
}
template <class To> __device__ __forceinline__ void convert_one(To *to, __nv_bfloat16 v) {
  round_to(to, (double)__bfloat162float(v));
}

template <class To, class From, int COUNT>
__global__ void __launch_bounds__(COLS *ROWS) convert(Matrix<To> to, Matrix<const From> from) {
  const int64_t col = ((int64_t)blockIdx.x * COLS + threadIdx.x) * COUNT;
  const int64_t step = (int64_t)gridDim.y * ROWS; /* at most 65535 blocks in y */
  if (col >= from.cols) return;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < from.rows; row += step) {
    const From *source = &from.at(row, col);
    To *target = &to.at(row, col);
    if (col + COUNT > from.cols) {
      for (int v = 0; v < from.cols - col; v++) convert_one(target + v, source[v]);
      continue;
    }
    const Few<From, COUNT> some = *reinterpret_cast<const Few<From, COUNT> *>(source);
    Few<To, COUNT> rounded;
#pragma unroll
    for (int v = 0; v < COUNT; v++) convert_one(&rounded.at[v], some.at[v]);
    *reinterpret_cast<Few<To, COUNT> *>(target) = rounded;
  }
}

template <class T, int COUNT> bool is_aligned(dm_view m) {
  const size_t bytes = COUNT * sizeof(T);
  return (uintptr_t)m.base % bytes == 0 && (m.rows == 1 || m.row_stride % COUNT == 0);
}

template <class To, class From, int COUNT>
cudaError_t launch(dm_view to, dm_view from, cudaStream_t stream) {
  const dim3 grid(blocks_for(divide_up(divide_up(from.cols, COUNT), COLS)),
                  blocks_for(divide_up(from.rows, ROWS), 65535));
  convert<To, From, COUNT>
      <<<grid, dim3(COLS, ROWS), 0, stream>>>(matrix_of<To>(to), matrix_of<const From>(from));
  return cudaGetLastError();
}

/* Elements of T in one access: at most 4, of at most 16 bytes together. */
template <class T> constexpr int most() {
  return sizeof(T) == 8 ? 2 : 4;
}

template <class To, class From>
cudaError_t convert_to(dm_view to, dm_view from, cudaStream_t stream) {
  constexpr int COUNT = most<To>() < most<From>() ? most<To>() : most<From>();
  return is_aligned<To, COUNT>(to) && is_aligned<From, COUNT>(from)
             ? launch<To, From, COUNT>(to, from, stream)
             : launch<To, From, 1>(to, from, stream);
}

template <class Function> cudaError_t with_real(dm_dtype dtype, Function function) {
  return with_one_of<double, float, __half, __nv_bfloat16>(dtype, function);
}

} // namespace

cudaError_t dm_kernels_convert(dm_view to, dm_view from, cudaStream_t stream) {
  return with_real(from.dtype, [&](auto source) {
    return with_real(to.dtype, [&](auto target) {
      return convert_to<decltype(target), decltype(source)>(to, from, stream);
    });
  });
}
