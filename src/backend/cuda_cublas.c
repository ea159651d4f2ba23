/* Products by cuBLAS, which is column-major: a row-major C = A B is C^T = B^T A^T there, so the
 * operands swap places and nothing is transposed. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_gemm.h"
#include "backend/whole_product.h"

/* Scalars have the compute type; a complex one is two numbers. */
static const double one_f64[2] = {1.0, 0.0}, zero_f64[2] = {0.0, 0.0};
static const float one_f32[2] = {1.0f, 0.0f}, zero_f32[2] = {0.0f, 0.0f};
static const int32_t one_i32 = 1, zero_i32 = 0;

static const dm_cuda_types types[DM_DTYPE_COUNT] = {
    [DM_F64] = {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, one_f64, zero_f64},
    [DM_F32] = {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, one_f32, zero_f32},
    [DM_F16] = {CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, one_f32, zero_f32},
    [DM_BF16] = {CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, one_f32, zero_f32},
    [DM_C64] = {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, one_f32, zero_f32},
    [DM_C128] = {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, one_f64, zero_f64},
    [DM_I8] = {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, &one_i32, &zero_i32},
};

const dm_cuda_types *dm_cuda_types_of(dm_dtype dtype) {
  return dtype < DM_DTYPE_COUNT && types[dtype].one ? &types[dtype] : NULL;
}

dm_status dm_cuda_need_cublas(dm_cuda *gpu) {
  if (gpu->cublas) return DM_OK;
  DM_CUBLAS(gpu, cublasCreate(&gpu->cublas));
  DM_CUBLAS(gpu, cublasSetStream(gpu->cublas, gpu->lanes[DM_COMPUTE].stream));
  /* After the stream: setting a stream resets the workspace to the default. */
  DM_CUBLAS(gpu, cublasSetWorkspace(gpu->cublas, gpu->workspace, (size_t)gpu->workspace_bytes));
  DM_CUBLAS(gpu, cublasSetPointerMode(gpu->cublas, CUBLAS_POINTER_MODE_HOST));
  DM_CUBLAS(gpu, cublasSetAtomicsMode(gpu->cublas, CUBLAS_ATOMICS_NOT_ALLOWED));
  DM_CUBLAS(gpu, cublasSetMathMode(gpu->cublas, CUBLAS_DEFAULT_MATH));
  return DM_OK;
}

/* C has the accumulator's type, or that of its operands. */
dm_status dm_cuda_product(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const dm_cuda_types *t = dm_cuda_types_of(a.dtype);
  if (!t) return dm_fail(DM_E_BUG, "cuBLAS cannot multiply matrices of %s", dm_dtype_name(a.dtype));
  const cudaDataType out = c.dtype == a.dtype ? t->in : t->out;
  DM_TRY(dm_cuda_need_cublas(gpu));
  const cublasStatus_t answer = cublasGemmEx_64(
      gpu->cublas, CUBLAS_OP_N, CUBLAS_OP_N, c.cols, c.rows, a.cols, t->one, b.base, t->in,
      dm_cuda_leading(b), a.base, t->in, dm_cuda_leading(a), accumulate ? t->one : t->zero, c.base,
      out, dm_cuda_leading(c), dm_cuda_compute(gpu, t), CUBLAS_GEMM_DEFAULT);
  if (answer == CUBLAS_STATUS_SUCCESS) return DM_OK;
  return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
}

/* ---- whole products ---- */

bool dm_cuda_suits(const dm_backend *backend, const dm_whole_product *p) {
  const dm_cuda *gpu = (const dm_cuda *)backend;
  const dm_dtype in = p->a.dtype, out = p->c.dtype;
  const dm_blas_product g = dm_blas_product_of(p);
  if (p->c.space != DM_DEVICE || !dm_cuda_types_of(in) || gpu->tile > 0 || gpu->kernel ||
      gpu->splits || gpu->moduli.count > 0 || g.left.op == DM_BLAS_NONE ||
      g.right.op == DM_BLAS_NONE)
    return false;
  if (in != DM_I8) return out == dm_compute_sum(in) || out == in;
  /* cuBLAS multiplies int8 only if lines start at multiples of four bytes. */
  const uint64_t at = (uint64_t)(uintptr_t)g.left.base | (uint64_t)(uintptr_t)g.right.base |
                      (uint64_t)g.left.leading | (uint64_t)g.right.leading | (uint64_t)g.rows;
  return out == DM_I32 && at % 4 == 0 && g.depth % 4 == 0;
}

static dm_status need_whole(dm_cuda *gpu, cudaStream_t stream) {
  if (!gpu->whole) {
    DM_CUBLAS(gpu, cublasCreate(&gpu->whole));
    DM_CUBLAS(gpu, cublasSetPointerMode(gpu->whole, CUBLAS_POINTER_MODE_HOST));
    DM_CUBLAS(gpu, cublasSetAtomicsMode(gpu->whole, CUBLAS_ATOMICS_NOT_ALLOWED));
    DM_CUBLAS(gpu, cublasSetMathMode(gpu->whole, CUBLAS_DEFAULT_MATH));
  }
  DM_CUBLAS(gpu, cublasSetStream(gpu->whole, stream));
  return DM_OK;
}

dm_status dm_cuda_multiply_whole(dm_backend *backend, const dm_whole_product *p, void *stream,
                                 dm_event *done) {
  static const cublasOperation_t ops[] = {
      [DM_BLAS_N] = CUBLAS_OP_N, [DM_BLAS_T] = CUBLAS_OP_T, [DM_BLAS_C] = CUBLAS_OP_C};
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_cuda_types *t = dm_cuda_types_of(p->a.dtype);
  const cudaDataType out = p->c.dtype == p->a.dtype ? t->in : t->out;
  const dm_blas_product g = dm_blas_product_of(p);
  const bool wide = t->compute == CUBLAS_COMPUTE_64F, whole = t->compute == CUBLAS_COMPUTE_32I;
  const float alphas[2] = {(float)p->alpha[0], (float)p->alpha[1]};
  const float betas[2] = {(float)p->beta[0], (float)p->beta[1]};
  const int32_t integers[2] = {(int32_t)p->alpha[0], (int32_t)p->beta[0]};
  const void *alpha = wide ? (const void *)p->alpha : whole ? (const void *)&integers[0] : alphas;
  const void *beta = wide ? (const void *)p->beta : whole ? (const void *)&integers[1] : betas;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(need_whole(gpu, stream ? (cudaStream_t)stream : gpu->lanes[DM_COMPUTE].stream));
  const cublasStatus_t answer = cublasGemmEx_64(
      gpu->whole, ops[g.left.op], ops[g.right.op], g.rows, g.cols, g.depth, alpha, g.left.base,
      t->in, g.left.leading, g.right.base, t->in, g.right.leading, beta, p->c.base, out, g.leading,
      dm_cuda_compute(gpu, t), CUBLAS_GEMM_DEFAULT);
  if (answer != CUBLAS_STATUS_SUCCESS)
    return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
  *done = 0;
  return stream ? DM_OK : dm_cuda_post(gpu, DM_COMPUTE, done);
}

#endif
