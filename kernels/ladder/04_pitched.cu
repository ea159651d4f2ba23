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
#include "kernels/helpers/repack.cuh"
#include "kernels/product/coalesced.cuh"

namespace {

constexpr int64_t PITCH = 512; /* bytes */

int64_t padded_bytes(dm_view m) {
  return packed_bytes(m.rows, m.cols, size_of(m.dtype), PITCH);
}

/* M becomes its copy in padded memory at AT. */
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
