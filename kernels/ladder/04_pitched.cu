/* pitched: naive_coalesced on operands with padded rows.
 *
 * The idea: memory is moved in aligned pieces of 32 bytes.  Where the length of a row is not a
 * multiple of that, rows begin in the middle of a piece, and a warp that reads 128 bytes touches
 * five pieces instead of four.  cudaMallocPitch therefore makes memory for matrices whose rows
 * begin at multiples of 512 bytes (the pitch).  Here A and B are copied into memory of the
 * backend's that is laid out in the same way: an allocation in the midst of a job would stop the
 * whole GPU.
 *
 * It adds the layout to naive_coalesced, which multiplies the unpadded operands.  The copies cost
 * O(mk + kn), and where rows are aligned already they gain nothing.
 *
 * Measured on an H200, N = 8192: f32 0.057, f64 0.024 of cuBLAS' speed. */
#include "kernels/product/coalesced.cuh"

namespace {

constexpr int64_t PITCH = 512; /* bytes */
constexpr int THREADS = 256;

/* Elements from row to row in padded memory. */
template <class T> int64_t padded_stride(const Matrix<T> &m) {
  return divide_up(m.cols * (int64_t)sizeof(T), PITCH) * PITCH / (int64_t)sizeof(T);
}

template <class T> int64_t padded_bytes(const Matrix<T> &m) {
  return m.rows * padded_stride(m) * (int64_t)sizeof(T);
}

template <class T> __global__ void copy_rows(Matrix<T> to, Matrix<const T> from) {
  for (int64_t row = blockIdx.x; row < to.rows; row += gridDim.x)
    for (int64_t col = threadIdx.x; col < to.cols; col += THREADS)
      to.at(row, col) = from.at(row, col);
}

/* The copy of M in padded memory at AT. */
template <class T> Matrix<const T> padded(const Matrix<const T> &m, char *at, cudaStream_t stream) {
  const Matrix<T> copy = {reinterpret_cast<T *>(at), m.rows, m.cols, padded_stride(m)};
  copy_rows<<<blocks_for(m.rows), THREADS, 0, stream>>>(copy, m);
  return {copy.base, copy.rows, copy.cols, copy.stride};
}

} // namespace

int64_t dm_kernels_padded_scratch(const dm_product *product) {
  if (product->a.dtype == DM_F32)
    return padded_bytes(matrix_of<float>(product->a)) + padded_bytes(matrix_of<float>(product->b));
  return padded_bytes(matrix_of<double>(product->a)) + padded_bytes(matrix_of<double>(product->b));
}

cudaError_t dm_kernels_pitched(const dm_product *product) {
  char *const memory = static_cast<char *>(product->scratch);
  return with_real(product, [&](auto p) {
    const int64_t a_bytes = padded_bytes(p.a);
    p.a = padded(p.a, memory, product->stream);
    p.b = padded(p.b, memory + a_bytes, product->stream);
    return launch_coalesced(p, product->stream);
  });
}
