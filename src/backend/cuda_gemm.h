/* cuda_gemm: the products of the cuda backend, by libraries and our own kernels. All run on the
 * compute lane, on matrices in device memory with k >= 1. */
#ifndef DM_BACKEND_CUDA_GEMM_H
#define DM_BACKEND_CUDA_GEMM_H

#include <cublas_v2.h>

#include "backend/cuda_state.h"
#include "core/checked.h"

/* cuBLAS's types for a product. */
typedef struct dm_cuda_types {
  cudaDataType in, out, scale;
  cublasComputeType_t compute;
  const void *one, *zero; /* of the scale type, in host memory */
} dm_cuda_types;

/* NULL: products of DTYPE are not supported. */
const dm_cuda_types *dm_cuda_types_of(dm_dtype dtype);

/* The arithmetic of cuBLAS for products of TYPES. Pedantic ones are a fifth slower, but the only
 * ones that stay native whatever the environment says. */
static inline cublasComputeType_t dm_cuda_compute(const dm_cuda *gpu, const dm_cuda_types *types) {
  const bool of_f32 = types->in == CUDA_R_32F || types->in == CUDA_C_32F;
  const bool shorten = gpu->operand == DM_TF32 && types->compute == CUBLAS_COMPUTE_32F;
  if (shorten) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (gpu->pedantic_f64 && types->compute == CUBLAS_COMPUTE_64F) return CUBLAS_COMPUTE_64F_PEDANTIC;
  return gpu->pedantic_f32 && of_f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : types->compute;
}

/* The operand type of products of DTYPE on GPU. */
static inline dm_operand dm_cuda_operand(const dm_cuda *gpu, dm_dtype dtype) {
  return gpu->operand == DM_TF32 ? DM_TF32 : (dm_operand)dtype;
}

/* Opens *HANDLE, if it is NULL, and makes it use STREAM. */
dm_status dm_cuda_need_handle(dm_cuda *gpu, cublasHandle_t *handle, cudaStream_t stream);

/* Elements from one of several products to the next. */
typedef struct dm_product_steps {
  int64_t a, b, c;
} dm_product_steps;

/* COUNT products of one shape, of which P is the first.  (cuda_cublas.c) */
dm_status dm_cuda_post_products(const dm_cuda *gpu, cublasHandle_t handle,
                                const dm_whole_product *p, int64_t count, dm_product_steps step);

/* A product whose C is symmetric or Hermitian, in STREAM, which is that of gpu->whole.
 * (cuda_symmetric.c) */
dm_status dm_cuda_post_symmetric(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t stream);

/* Whether gpu splits X, which is f32 with many rows, for P = X^T X; and that product, if each
 * column suits in each part of k: else *TAKEN is false.  (cuda_gram.c) */
bool dm_cuda_splits_gram(const dm_cuda *gpu, const dm_whole_product *p);
dm_status dm_cuda_post_split_gram(dm_cuda *gpu, const dm_whole_product *p, cudaStream_t stream,
                                  bool *taken);

/* Elements from row to row; for a single row, whose stride has no meaning, a value that cuBLAS
 * accepts. */
static inline int64_t dm_cuda_leading(dm_view view) {
  return view.rows > 1 ? view.row_stride : dm_max(view.row_stride, view.cols);
}

/* Whether KERNEL supports this GPU. */
static inline bool dm_cuda_runs(const dm_cuda *gpu, const dm_kernel *kernel) {
  return gpu->capability >= kernel->first && gpu->capability <= kernel->last;
}

/* Whether rows of VIEW, their ends too, are at multiples of 16 bytes: cuBLAS is as slow if only the
 * number of columns is not. */
bool dm_cuda_is_aligned(dm_view view);

/* The fastest kernel for C (+)= A B on this GPU; with --reproducible the same for all shapes. */
const dm_kernel *dm_cuda_fastest(const dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                 bool accumulate);

/* C (+)= A B by KERNEL; with --reproducible in pieces if the kernel needs it. (cuda_gemm.c) */
dm_status dm_cuda_multiply(dm_cuda *gpu, const dm_kernel *kernel, dm_view c, dm_view a, dm_view b,
                           bool accumulate);

/* dm_backend_transpose. (cuda_gemm.c) */
dm_status dm_cuda_transpose(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                            bool in_order, dm_event *done);

/* dm_backend_epilogue. (cuda_gemm.c) */
dm_status dm_cuda_epilogue(dm_backend *backend, dm_view c, dm_view sums, dm_view old,
                           const double alpha[2], const double beta[2], dm_event *done);

/* dm_backend_mirror. (cuda_gemm.c) */
dm_status dm_cuda_mirror(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                         dm_event *done);

/* A library's product in one call. */
typedef dm_status dm_cuda_library(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);
/* Sets gpu->workspace. */
dm_status dm_cuda_need_workspace(dm_cuda *gpu);
/* Loads cuBLAS on first use; most products need no cuBLAS. */
dm_status dm_cuda_need_cublas(dm_cuda *gpu);

dm_cuda_library dm_cuda_product;    /* cublasGemmEx (cuda_cublas.c) */
dm_cuda_library dm_cuda_product_lt; /* cublasLtMatmul, by its heuristic (cuda_cublas.c) */
void dm_cuda_close_lt(dm_cuda *gpu);

/* i8 by cuBLAS or, if it cannot, by our own kernel: exact either way. (cuda_cublas.c) */
dm_status dm_cuda_multiply_i8(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);

/* Places a device matrix at *ROOM and advances *ROOM past it. (cuda_cublas.c) */
dm_view dm_cuda_take(char **room, dm_dtype dtype, int64_t rows, int64_t cols, int64_t stride);

/* LIBRARY's product in pieces whose bits do not depend on how C was cut. (cuda_cublas.c) */
dm_status dm_cuda_multiply_pieces(dm_cuda *gpu, dm_cuda_library *library, dm_view c, dm_view a,
                                  dm_view b, bool accumulate);

/* Loads what the kernel jit needs; DM_E_USAGE: it is not installed. (cuda_gemm.c) */
dm_status dm_cuda_need_nvrtc(dm_cuda *gpu);

/* Launches one of our own kernels. */
dm_status dm_cuda_launch(dm_cuda *gpu, dm_kernel_id kernel, dm_view c, dm_view a, dm_view b,
                         bool accumulate);

#endif
