/* Products of i8 by cuBLAS.
 *
 * It is fast only if k runs along the rows of both operands, rows start at multiples of 16 bytes,
 * and the width of C is a multiple of 4. So B is transposed to our own memory and its rows are
 * padded with zeros: whatever follows the rows of A is multiplied by 0. Anything else that does not
 * fit is copied too, a band of rows at a time. Integers are exact, so copies do not change the
 * result. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"
#include "kernels/kernels.h"

enum {
  BAND_BYTES = 64 << 20, /* of copies of A and C */
  LEAST_ROWS = 64,
};

static bool a_fits(dm_view a, int64_t depth) {
  return (uintptr_t)a.base % 16 == 0 && a.row_stride % 16 == 0 && a.row_stride >= depth;
}

/* Whether the first columns of C can be written in place. */
static bool c_is_aligned(dm_view c) {
  return (uintptr_t)c.base % 16 == 0 && dm_cuda_leading(c) % 4 == 0;
}

static bool c_fits(dm_view c) {
  return c_is_aligned(c) && c.cols % 4 == 0;
}

/* C (+)= A TURNED^T if everything fits. In columns, TURNED is B, and A its own transpose. */
static cublasStatus_t product(dm_cuda *gpu, dm_view c, dm_view a, dm_view turned, bool accumulate) {
  const dm_cuda_types *t = dm_cuda_types_of(DM_I8);
  return cublasGemmEx_64(gpu->cublas, CUBLAS_OP_T, CUBLAS_OP_N, c.cols, c.rows, turned.cols, t->one,
                         turned.base, t->in, turned.row_stride, a.base, t->in, a.row_stride,
                         accumulate ? t->one : t->zero, c.base, t->out, dm_cuda_leading(c),
                         t->compute, CUBLAS_GEMM_DEFAULT);
}

/* Writes B^T, padded with zeros to the size of TURNED. */
static dm_status turn(dm_cuda *gpu, dm_view turned, dm_view b) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  if (turned.rows > b.cols || turned.cols > b.rows) DM_TRY(dm_cuda_zero_on(gpu, stream, turned));
  const dm_transposition transposition = {
      .to = dm_view_sub(turned, 0, 0, b.cols, b.rows), .from = b, .stream = stream};
  DM_CUDA(gpu, dm_kernels_transpose_tiled(&transposition));
  return DM_OK;
}

/* Multiplies a band of C; B is for our own kernel, if cuBLAS cannot multiply the band. */
static dm_status multiply_band(dm_cuda *gpu, dm_view c, dm_view a, dm_view turned, dm_view b,
                               bool accumulate, char *room) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  dm_view fit_a = a, fit_c = c;
  if (!a_fits(a, turned.cols)) {
    fit_a = dm_cuda_take(&room, a.dtype, a.rows, turned.cols, turned.cols);
    DM_TRY(dm_cuda_copy_on(gpu, stream, dm_view_sub(fit_a, 0, 0, a.rows, a.cols), a));
  }
  if (!c_fits(c)) {
    fit_c = dm_cuda_take(&room, c.dtype, c.rows, turned.rows, turned.rows);
    if (accumulate)
      DM_TRY(dm_cuda_copy_on(gpu, stream, dm_view_sub(fit_c, 0, 0, c.rows, c.cols), c));
  }
  DM_TRY(dm_cuda_need_cublas(gpu));
  const cublasStatus_t answer = product(gpu, fit_c, fit_a, turned, accumulate);
  if (answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE)
    return dm_cuda_launch(gpu, DM_KERNEL_tiled_32, c, a, b, accumulate);
  if (answer != CUBLAS_STATUS_SUCCESS)
    return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
  if (fit_c.base == c.base) return DM_OK;
  return dm_cuda_copy_on(gpu, stream, c, dm_view_sub(fit_c, 0, 0, c.rows, c.cols));
}

/* Multiplies COLS columns from COL of C; copies of operands are made band by band. */
static dm_status multiply_columns(dm_cuda *gpu, dm_view c, dm_view a, dm_view turned, dm_view b,
                                  bool accumulate, int64_t col, int64_t cols, char *room) {
  if (cols == 0) return DM_OK;
  c = dm_view_sub(c, 0, col, c.rows, cols);
  b = dm_view_sub(b, 0, col, b.rows, cols);
  turned = dm_view_sub(turned, col, 0, dm_round_up(cols, 4), turned.cols);
  const int64_t row =
      (a_fits(a, turned.cols) ? 0 : turned.cols) + (c_fits(c) ? 0 : turned.rows * 4);
  const int64_t band = row > 0 ? dm_max(LEAST_ROWS, BAND_BYTES / row) : c.rows;
  for (int64_t i = 0; i < c.rows; i += band) {
    const int64_t rows = dm_min(band, c.rows - i);
    DM_TRY(multiply_band(gpu, dm_view_sub(c, i, 0, rows, cols), dm_view_sub(a, i, 0, rows, a.cols),
                         turned, b, accumulate, room));
  }
  return DM_OK;
}

dm_status dm_cuda_multiply_i8(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const int64_t depth = dm_round_up(a.cols, 16), width = dm_round_up(c.cols, 4);
  const int64_t row = depth + width * 4; /* bytes of the copies of one row of A and C */
  const bool fits = a_fits(a, depth) && c_fits(c);
  const int64_t band_bytes = dm_min(c.rows * row, dm_max(BAND_BYTES, LEAST_ROWS * row));
  DM_TRY(dm_cuda_grow(gpu, &gpu->pieces, width * depth + (fits ? 0 : band_bytes) + 3 * 256));
  char *room = gpu->pieces.memory;
  const dm_view turned = dm_cuda_take(&room, DM_I8, width, depth, depth);
  DM_TRY(turn(gpu, turned, b));
  const int64_t most = c_is_aligned(c) ? c.cols / 4 * 4 : 0; /* the others are copied */
  DM_TRY(multiply_columns(gpu, c, a, turned, b, accumulate, 0, most, room));
  return multiply_columns(gpu, c, a, turned, b, accumulate, most, c.cols - most, room);
}

#endif
