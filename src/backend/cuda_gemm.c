/* Products.  cuBLAS thinks in columns: a row-major C = A B is, read by columns, C^T = B^T A^T, so
 * the operands change places and nothing is transposed. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_internal.h"
#include "core/checked.h"

/* Scalars are of the compute type; a complex one is two numbers. */
static const double one_f64[2] = {1.0, 0.0}, zero_f64[2] = {0.0, 0.0};
static const float one_f32[2] = {1.0f, 0.0f}, zero_f32[2] = {0.0f, 0.0f};
static const int32_t one_i32 = 1, zero_i32 = 0;

typedef struct product_type {
  cudaDataType in, out;
  cublasComputeType_t compute, compute_tf32;
  const void *one, *zero;
} product_type;

static const product_type types[DM_DTYPE_COUNT] = {
    [DM_F64] = {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F, one_f64, zero_f64},
    [DM_F32] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, one_f32,
                zero_f32},
    [DM_F16] = {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F, one_f32, zero_f32},
    [DM_BF16] = {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F, one_f32,
                 zero_f32},
    [DM_C64] = {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, one_f32,
                zero_f32},
    [DM_C128] = {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F, one_f64, zero_f64},
    [DM_I8] = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I, &one_i32, &zero_i32},
};

/* Elements from row to row; for a single row, whose stride means nothing, what cuBLAS accepts. */
static int64_t leading(dm_view view) {
  return view.rows > 1 ? view.row_stride : dm_max(view.row_stride, view.cols);
}

static cublasStatus_t product(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const product_type *t = &types[a.dtype];
  if (!t->one) return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasGemmEx_64(gpu->cublas, CUBLAS_OP_N, CUBLAS_OP_N, c.cols, c.rows, a.cols, t->one,
                         b.base, t->in, leading(b), a.base, t->in, leading(a),
                         accumulate ? t->one : t->zero, c.base, t->out, leading(c),
                         gpu->tf32 ? t->compute_tf32 : t->compute, CUBLAS_GEMM_DEFAULT);
}

static dm_status check(dm_cuda *gpu, cublasStatus_t answer) {
  if (answer == CUBLAS_STATUS_SUCCESS) return DM_OK;
  return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
}

dm_status dm_cuda_product(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  return check(gpu, product(gpu, c, a, b, accumulate));
}

static bool four_aligned(dm_view view) {
  return (uintptr_t)view.base % 4 == 0 && leading(view) % 4 == 0;
}

/* cuBLAS multiplies i8 only where everything is a multiple of 4, and then not always.  A
 * tiled kernel takes the rest; integers are exact, so that the way makes no difference to the
 * result. */
static dm_status multiply_i8(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  if (!four_aligned(a) || !four_aligned(b))
    return dm_cuda_launch(gpu, DM_KERNEL_tiled_32, c, a, b, accumulate);
  cublasStatus_t answer = product(gpu, c, a, b, accumulate);
  if (answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE)
    return dm_cuda_launch(gpu, DM_KERNEL_tiled_32, c, a, b, accumulate);
  return check(gpu, answer);
}

/* A piece of memory at *FREE for a copy of VIEW, rows STRIDE apart. */
static dm_view place(char **free_memory, dm_view view, int64_t stride) {
  dm_view piece =
      dm_view_strided(*free_memory, view.dtype, DM_DEVICE, view.rows, view.cols, stride);
  *free_memory += dm_round_up(view.rows * stride * dm_dtype_size(view.dtype), 256);
  return piece;
}

/* Reproducible products.  cuBLAS chooses its kernel, and so the order of its sums, by the shape and
 * the alignment of what it is given: C must not show how it was cut into blocks.  So C is computed
 * in pieces of tile x tile from the block's own origin (blocks begin at multiples of the tile), and
 * every piece is computed in the same place: operands are copied into memory of ours, whose
 * alignment and strides are functions of k and the tile alone.  The last pieces are narrower, but
 * they are the last on any grid, since they lie at the matrix's own border.  k is not cut: panels
 * have fixed borders already. */
static dm_status multiply_pieces(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const int64_t tile = gpu->tile, k = a.cols;
  const int64_t wide = dm_round_up(tile, 64), deep = dm_round_up(k, 64);
  const int64_t in = dm_dtype_size(a.dtype), out = dm_dtype_size(c.dtype);
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_TRY(dm_cuda_grow(gpu, &gpu->pieces,
                      tile * deep * in + k * wide * in + tile * wide * out + 3 * 256));

  for (int64_t j = 0; j < c.cols; j += tile) {
    const int64_t width = dm_min(tile, c.cols - j);
    const dm_view b_part = dm_view_sub(b, 0, j, k, width);
    char *memory = gpu->pieces.memory;
    const dm_view b_piece = place(&memory, b_part, wide);
    DM_TRY(dm_cuda_copy_on(gpu, stream, b_piece, b_part));
    for (int64_t i = 0; i < c.rows; i += tile) {
      const int64_t height = dm_min(tile, c.rows - i);
      const dm_view a_part = dm_view_sub(a, i, 0, height, k);
      const dm_view c_part = dm_view_sub(c, i, j, height, width);
      char *rest = memory;
      const dm_view c_piece = place(&rest, c_part, wide);
      const dm_view a_piece = place(&rest, a_part, deep);
      DM_TRY(dm_cuda_copy_on(gpu, stream, a_piece, a_part));
      if (accumulate) DM_TRY(dm_cuda_copy_on(gpu, stream, c_piece, c_part));
      DM_TRY(dm_cuda_product(gpu, c_piece, a_piece, b_piece, accumulate));
      DM_TRY(dm_cuda_copy_on(gpu, stream, c_part, c_piece));
    }
  }
  return DM_OK;
}

static dm_status multiply_by_cublas(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                    bool accumulate) {
  if (a.dtype == DM_I8) return multiply_i8(gpu, c, a, b, accumulate);
  if (gpu->tile > 0) return multiply_pieces(gpu, c, a, b, accumulate);
  return dm_cuda_product(gpu, c, a, b, accumulate);
}

dm_status dm_cuda_multiply(dm_cuda *gpu, const dm_kernel *kernel, dm_view c, dm_view a, dm_view b,
                           bool accumulate) {
  switch (kernel->maker) {
  case DM_BY_KERNEL: /* reproducible as it is: sums do not depend on how C is cut */
    return dm_cuda_launch(gpu, kernel->id, c, a, b, accumulate);
  case DM_BY_CUBLAS:
  case DM_BY_CUBLASLT:
  case DM_BY_JIT:
    break;
  }
  return multiply_by_cublas(gpu, c, a, b, accumulate);
}

static dm_status multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  if (a.cols == 0)
    return accumulate ? DM_OK : dm_cuda_zero_on(gpu, gpu->lanes[DM_COMPUTE].stream, c);
  const dm_kernel *kernel = gpu->kernel ? gpu->kernel : &dm_cuda_registry()[DM_KERNEL_cublas];
  return dm_cuda_multiply(gpu, kernel, c, a, b, accumulate);
}

dm_status dm_cuda_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                       dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  if (done) *done = 0;
  if (dm_view_is_empty(c)) return DM_OK;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_context(multiply(gpu, c, a, b, accumulate),
                    "%s product of %lld x %lld x %lld (m, n, k)", dm_dtype_name(a.dtype),
                    (long long)c.rows, (long long)c.cols, (long long)a.cols));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

#endif
