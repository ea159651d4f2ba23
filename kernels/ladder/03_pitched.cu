/* pitched: naive_coalesced on copies of A and B whose rows are padded.
 *
 * The idea: memory is accessed in aligned sectors of 32 bytes.  If the length of a row is not a
 * multiple of 32 bytes, rows begin within a sector, and a warp that reads 128 bytes accesses five
 * sectors instead of four.  cudaMallocPitch therefore allocates rows at multiples of 512 bytes, the
 * pitch.  This rung copies A and B to scratch memory with that layout, because allocating memory
 * during a job would stall the whole GPU.
 *
 * Adds to naive_coalesced: the layout.  The kernel is the same.
 *
 * What limits it: as before.  The copies cost O(mk + kn) and gain nothing if rows are aligned
 * already. */
#include "kernels/gemm.h"

namespace {

constexpr int COLS = 32, ROWS = 8; /* of C, per block */
constexpr int64_t PITCH = 512;     /* bytes */

template <class T> __global__ void pitched(Product<T> p) {
  const int64_t col = (int64_t)blockIdx.x * COLS + threadIdx.x;
  if (col >= p.c.cols) return;
  const int64_t step = (int64_t)gridDim.y * ROWS;
  for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < p.c.rows; row += step) {
    T sum = p.old(row, col);
    for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
    p.c.at(row, col) = sum;
  }
}

int64_t pitch_of(const dm_gemm_matrix &m, int size) {
  return divide_up(m.cols * size, PITCH) * PITCH;
}

/* Copies M to padded memory at *FREE, replaces it by the copy, and advances *FREE. */
cudaError_t pad(dm_gemm_matrix *m, int size, char **free, cudaStream_t stream) {
  const int64_t pitch = pitch_of(*m, size);
  const cudaError_t error =
      cudaMemcpy2DAsync(*free, pitch, m->base, m->row_stride * size, m->cols * size, m->rows,
                        cudaMemcpyDeviceToDevice, stream);
  m->base = *free;
  m->row_stride = pitch / size;
  *free += m->rows * pitch;
  return error;
}

} // namespace

extern "C" int64_t dm_kernels_padded_scratch(const dm_gemm *product) {
  return product->a.rows * pitch_of(product->a, product->size) +
         product->b.rows * pitch_of(product->b, product->size);
}

extern "C" cudaError_t dm_kernels_pitched(const dm_gemm *product) {
  char *free = static_cast<char *>(product->scratch);
  dm_gemm padded = *product;
  cudaError_t error = pad(&padded.a, product->size, &free, product->stream);
  if (error == cudaSuccess) error = pad(&padded.b, product->size, &free, product->stream);
  if (error != cudaSuccess) return error;
  const dim3 grid(blocks_for(divide_up(product->c.cols, COLS)),
                  blocks_for(divide_up(product->c.rows, ROWS), 65535));
  return with_real(&padded, [&](auto p) {
    pitched<<<grid, dim3(COLS, ROWS), 0, product->stream>>>(p);
    return cudaGetLastError();
  });
}
