/* repack: copies of operands with aligned rows, for kernels that move only pieces of 16 bytes.
 * (repack.cu) */
#ifndef DM_KERNELS_REPACK_CUH
#define DM_KERNELS_REPACK_CUH

#include "kernels/helpers/matrix.cuh"

constexpr int64_t PACKED_ROW = 128, PACKED_MATRIX = 256; /* bytes */

/* The stride of a copy, in elements of SIZE bytes, and the bytes of the whole copy. */
static inline int64_t packed_stride(int64_t cols, int64_t size, int64_t row = PACKED_ROW) {
  return divide_up(cols * size, row) * row / size;
}

static inline int64_t packed_bytes(int64_t rows, int64_t cols, int64_t size,
                                   int64_t row = PACKED_ROW) {
  return divide_up(rows * packed_stride(cols, size, row) * size, PACKED_MATRIX) * PACKED_MATRIX;
}

/* Whether M, with elements of SIZE bytes, can be read in vectors of 16 bytes. */
static inline bool rows_are_aligned(dm_view m, int64_t size) {
  return (uintptr_t)m.base % 16 == 0 && (m.rows == 1 || m.row_stride * size % 16 == 0);
}

/* Copy FROM to AT, with rows that begin at multiples of ROW bytes; the transpose only for elements
 * of 1 or 4 bytes, with ROW = PACKED_ROW. */
cudaError_t dm_pack(dm_view from, void *at, int64_t row, cudaStream_t stream);
cudaError_t dm_pack_transposed(dm_view from, void *at, cudaStream_t stream);

/* If rows of A or B are not aligned, copies that operand to PRODUCT's scratch memory of
 * dm_kernels_aligned_scratch bytes, and replaces it by the copy. */
cudaError_t dm_align_operands(dm_product *product);

#endif
