/* repack: copies of operands whose rows begin at multiples of so many bytes, for kernels that move
 * nothing smaller than 16 of them.  (repack.cu) */
#ifndef DM_KERNELS_REPACK_CUH
#define DM_KERNELS_REPACK_CUH

#include "kernels/helpers/matrix.cuh"

constexpr int64_t PACKED_ROW = 128, PACKED_MATRIX = 256; /* bytes */

/* Elements of SIZE bytes from row to row of a copy, and the bytes of all. */
static inline int64_t packed_stride(int64_t cols, int64_t size, int64_t row = PACKED_ROW) {
  return divide_up(cols * size, row) * row / size;
}

static inline int64_t packed_bytes(int64_t rows, int64_t cols, int64_t size,
                                   int64_t row = PACKED_ROW) {
  return divide_up(rows * packed_stride(cols, size, row) * size, PACKED_MATRIX) * PACKED_MATRIX;
}

/* Whether vectors of 16 bytes can be taken from M, whose elements have SIZE bytes. */
static inline bool rows_are_aligned(dm_view m, int64_t size) {
  return (uintptr_t)m.base % 16 == 0 && (m.rows == 1 || m.row_stride * size % 16 == 0);
}

/* FROM at AT, in rows that begin at multiples of ROW bytes; as it is, or its transpose (of elements
 * of 1 or 4 bytes, and with ROW = PACKED_ROW). */
cudaError_t dm_pack(dm_view from, void *at, int64_t row, cudaStream_t stream);
cudaError_t dm_pack_transposed(dm_view from, void *at, cudaStream_t stream);

/* A and B of PRODUCT, where their rows are not aligned, are copied to its scratch memory, which has
 * dm_kernels_aligned_scratch bytes, and replaced by the copies. */
cudaError_t dm_align_operands(dm_product *product);

#endif
