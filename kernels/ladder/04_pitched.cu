/* pitched: naive_coalesced on operands with padded rows.
 *
 * The idea: memory is accessed in aligned sectors of 32 bytes.  If the length of a row is not a
 * multiple of 32 bytes, rows begin within a sector, and a warp that reads 128 bytes accesses five
 * sectors instead of four.  cudaMallocPitch therefore allocates rows at multiples of 512 bytes (the
 * pitch).  This kernel copies A and B to scratch memory with that layout, because allocating memory
 * during a job would stall the whole GPU.
 *
 * Adds to naive_coalesced: the layout.  Limits: the copies cost O(mk + kn), and gain nothing if
 * rows are already aligned.
 *
 * Measured on an H200, N = 8192: f32 0.057, f64 0.024 of cuBLAS' speed. */
#include "kernels/helpers/repack.cuh"
#include "kernels/product/coalesced.cuh"

namespace {

constexpr int64_t PITCH = 512; /* bytes */

int64_t padded_bytes(dm_view m) {
  return packed_bytes(m.rows, m.cols, size_of(m.dtype), PITCH);
}

/* Copies M to padded memory at AT, and replaces it by the copy. */
cudaError_t pad(dm_view *m, void *at, cudaStream_t stream) {
  const cudaError_t error = dm_pack(*m, at, PITCH, stream);
  m->base = at;
  m->row_stride = packed_stride(m->cols, size_of(m->dtype), PITCH);
  return error;
}

} // namespace

int64_t dm_kernels_padded_scratch(const dm_product *product) {
  return padded_bytes(product->a) + padded_bytes(product->b);
}

cudaError_t dm_kernels_pitched(const dm_product *product) {
  char *const memory = static_cast<char *>(product->scratch);
  dm_product padded = *product;
  cudaError_t error = pad(&padded.a, memory, product->stream);
  if (error != cudaSuccess) return error;
  error = pad(&padded.b, memory + padded_bytes(product->a), product->stream);
  if (error != cudaSuccess) return error;
  return with_real(&padded, [&](auto p) { return launch_coalesced(p, product->stream); });
}
