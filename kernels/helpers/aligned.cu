/* aligned: copies of A and B whose rows begin at multiples of 128 bytes.
 *
 * The tensor-core rungs fill shared memory in pieces of 16 bytes, which must be aligned in global
 * memory too.  Rows of 8191 bf16 are not, and a way of loading that takes them as they are would
 * slow down the inner loop of a kernel whose every operand is read many times.  A copy reads them
 * once more: O(mk + kn) against O(mnk).
 *
 * Only aligned words are read: four bytes that begin in the middle of a word are shifted together
 * from two.  A warp reads and writes 128 adjacent bytes at a time. */
#include "kernels/helpers/aligned.cuh"

#include "kernels/helpers/matrix.cuh"

namespace {

constexpr int64_t PITCH = 128;               /* bytes */
constexpr int WARPS = 8, WORDS = 16;         /* that a lane copies of a piece */
constexpr int64_t PIECE = 32 * WORDS;        /* words of a row, for one warp */
constexpr int64_t BLOCKS_PER_PROCESSOR = 64; /* they go on to other pieces */

int64_t element_size(dm_view m) {
  int64_t size = 1;
  with_type(m.dtype, [&](auto element) {
    size = sizeof element;
    return cudaSuccess;
  });
  return size;
}

bool is_aligned(dm_view m) {
  return (uintptr_t)m.base % 16 == 0 && (m.rows == 1 || m.row_stride * element_size(m) % 16 == 0);
}

int64_t row_bytes(dm_view m) {
  return m.cols * element_size(m);
}

int64_t copy_bytes(dm_view m) {
  return is_aligned(m) ? 0 : m.rows * (divide_up(row_bytes(m), PITCH) * PITCH);
}

struct Rows {
  char *at;
  int64_t pitch;
};

/* Word I of a row of BYTES bytes that begins SKEW bytes behind WORDS; 0 behind its end. */
__device__ __forceinline__ uint32_t shifted_word(const uint32_t *words, int skew, int64_t i,
                                                 int64_t bytes) {
  if (4 * i + 8 - skew <= bytes) {
    const uint32_t low = words[i];
    return skew ? __funnelshift_r(low, words[i + 1], 8 * skew) : low;
  }
  uint32_t word = 0; /* the next one may lie behind the end of all memory */
  for (int e = 0; e < 4 && 4 * i + e < bytes; e++)
    word |= (uint32_t) reinterpret_cast<const uint8_t *>(words)[skew + 4 * i + e] << 8 * e;
  return word;
}

__global__ void __launch_bounds__(32 * WARPS)
    align_rows(Rows to, Rows from, int64_t rows, int64_t bytes) {
  const int64_t words = (bytes + 3) / 4, pieces = (words + PIECE - 1) / PIECE;
  const int lane = threadIdx.x % 32;
  for (int64_t at = blockIdx.x * (int64_t)WARPS + threadIdx.x / 32; at < rows * pieces;
       at += gridDim.x * (int64_t)WARPS) {
    const char *row = from.at + at / pieces * from.pitch;
    const int skew = (int)((uintptr_t)row % 4);
    const uint32_t *source = reinterpret_cast<const uint32_t *>(row - skew);
    uint32_t *copy = reinterpret_cast<uint32_t *>(to.at + at / pieces * to.pitch);
    const int64_t first = at % pieces * PIECE + lane;
#pragma unroll 8
    for (int w = 0; w < WORDS; w++) {
      const int64_t i = first + 32 * w;
      if (i < words) copy[i] = shifted_word(source, skew, i, bytes);
    }
  }
}

cudaError_t align(dm_view *m, char *memory, const dm_product *product) {
  if (is_aligned(*m)) return cudaSuccess;
  const int64_t size = element_size(*m), bytes = row_bytes(*m);
  const Rows from = {static_cast<char *>(m->base), m->row_stride * size};
  const Rows to = {memory, divide_up(bytes, PITCH) * PITCH};
  const int64_t warps = m->rows * divide_up(divide_up(bytes, 4), PIECE);
  const unsigned blocks =
      blocks_for(divide_up(warps, WARPS), BLOCKS_PER_PROCESSOR * product->processors);
  align_rows<<<blocks, 32 * WARPS, 0, product->stream>>>(to, from, m->rows, bytes);
  m->base = memory;
  m->row_stride = to.pitch / size;
  return cudaGetLastError();
}

} // namespace

int64_t dm_kernels_aligned_scratch(const dm_product *product) {
  if (product->a.dtype == DM_F64) return 0; /* taken as it is: mma_f64.cu */
  return copy_bytes(product->a) + copy_bytes(product->b);
}

cudaError_t dm_align_operands(dm_product *product) {
  char *const memory = static_cast<char *>(product->scratch);
  const int64_t a_bytes = copy_bytes(product->a);
  const cudaError_t error = align(&product->a, memory, product);
  return error != cudaSuccess ? error : align(&product->b, memory + a_bytes, product);
}
