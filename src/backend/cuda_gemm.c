/* Dispatches products to cuBLAS and to our own kernels. */
#include "backend/cuda_gemm.h"

#include <stdint.h>

#include "backend/cuda_state.h"
#include "backend/kernel_list.h"
#include "kernels/kernels.h"

static dm_status multiply_by(dm_cuda *gpu, dm_cuda_library *library, dm_view c, dm_view a,
                             dm_view b, bool accumulate) {
  if (gpu->tile > 0) return dm_cuda_multiply_pieces(gpu, library, c, a, b, accumulate);
  return library(gpu, c, a, b, accumulate);
}

dm_status dm_cuda_multiply(dm_cuda *gpu, const dm_kernel *kernel, dm_view c, dm_view a, dm_view b,
                           bool accumulate) {
  switch (kernel->maker) {
  case DM_BY_KERNEL: /* always reproducible: sums do not depend on how C is cut */
    return dm_cuda_launch(gpu, kernel->id, c, a, b, accumulate);
  case DM_BY_CUBLAS:
    if (a.dtype == DM_I8) return dm_cuda_multiply_i8(gpu, c, a, b, accumulate);
    return multiply_by(gpu, dm_cuda_product, c, a, b, accumulate);
  case DM_BY_CUBLASLT:
    return multiply_by(gpu, dm_cuda_product_lt, c, a, b, accumulate);
  }
  return dm_fail(DM_E_BUG, "no launcher for kernel %s", kernel->name);
}

/* Our kernels, and cuBLAS as it is called here, read rows: *V, by columns, is copied. */
static dm_status turn_to_rows(dm_cuda *gpu, dm_view *v) {
  const int64_t stride = dm_device_stride(v->cols, v->dtype);
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  if (v->col_stride == 1) return DM_OK;
  DM_TRY(dm_cuda_grow(gpu, &gpu->turned, v->rows * stride * dm_dtype_size(v->dtype)));
  const dm_view rows =
      dm_view_strided(gpu->turned.memory, v->dtype, DM_DEVICE, v->rows, v->cols, stride);
  const dm_transposition work = {.to = rows, .from = dm_view_transpose(*v), .stream = stream};
  DM_CUDA(gpu, dm_kernels_transpose_tiled(&work));
  *v = rows;
  return DM_OK;
}

static dm_status multiply_by_kernel(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate);

/* A complex product as a real one, by kernels of ours: their sums do not depend on how C is cut. B
 * is expanded in parts, in 128 MiB at most. */
enum { CUDA_GEMM_DEEP = 512, CUDA_GEMM_WIDE = 8192 };

static dm_status multiply_expanded(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  const dm_view to = dm_view_strided(gpu->pieces.memory, b.dtype, DM_DEVICE, 2 * b.rows, b.cols,
                                     dm_device_stride(b.cols, b.dtype));
  DM_CUDA(gpu, dm_kernels_expand(to, b, gpu->lanes[DM_COMPUTE].stream));
  return multiply_by_kernel(gpu, dm_view_parts(c), dm_view_parts(a), dm_view_parts(to), accumulate);
}

static dm_status cuda_gemm_multiply_parts(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                          bool accumulate) {
  const int64_t stride = dm_device_stride(dm_min(b.cols, CUDA_GEMM_WIDE), b.dtype);
  DM_TRY(dm_cuda_grow(gpu, &gpu->pieces,
                      2 * dm_min(b.rows, CUDA_GEMM_DEEP) * stride * dm_dtype_size(b.dtype)));
  for (int64_t j = 0; j < b.cols; j += CUDA_GEMM_WIDE)
    for (int64_t k = 0; k < b.rows; k += CUDA_GEMM_DEEP) {
      const int64_t depth = dm_min(CUDA_GEMM_DEEP, b.rows - k),
                    width = dm_min(CUDA_GEMM_WIDE, b.cols - j);
      DM_TRY(multiply_expanded(gpu, dm_view_sub(c, 0, j, c.rows, width),
                               dm_view_sub(a, 0, k, a.rows, depth),
                               dm_view_sub(b, k, j, depth, width), accumulate || k > 0));
    }
  return DM_OK;
}

static dm_status cuda_gemm_multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                    bool accumulate) {
  DM_TRY(turn_to_rows(gpu, a.col_stride != 1 ? &a : &b)); /* at most one is by columns */
  if (a.cols == 0)
    return accumulate ? DM_OK : dm_cuda_zero_on(gpu, gpu->lanes[DM_COMPUTE].stream, c);
  if (gpu->splits && dm_dtype_real(a.dtype) == DM_F32)
    return dm_cuda_multiply_split(gpu, c, a, b, accumulate);
  const bool by_parts = gpu->tile > 0 && !gpu->kernel && dm_dtype_is_complex(a.dtype);
  return by_parts ? cuda_gemm_multiply_parts(gpu, c, a, b, accumulate)
                  : multiply_by_kernel(gpu, c, a, b, accumulate);
}

/* By the kernel that was named, or the fastest one. */
static dm_status multiply_by_kernel(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                    bool accumulate) {
  const dm_kernel *kernel = gpu->kernel ? gpu->kernel : dm_cuda_fastest(gpu, c, a, b, accumulate);
  return dm_cuda_multiply(gpu, kernel, c, a, b, accumulate);
}

dm_status dm_cuda_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                       dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(dm_context(cuda_gemm_multiply(gpu, c, a, b, accumulate),
                    "%s product of %lld x %lld x %lld (m, n, k)", dm_dtype_name(a.dtype),
                    (long long)c.rows, (long long)c.cols, (long long)a.cols));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

/* --kernel auto: the fastest kernel for each product, as measured on an H200 (docs/kernels.md). */

/* When a kernel is preferred. The first matching rule counts. */
typedef struct rule {
  unsigned types;
  int64_t least, below; /* elements of C: at least, and fewer than */
  int64_t depth;        /* largest k */
  enum { ANY_PRODUCT, UNALIGNED, ADDING, REPRODUCIBLE } when;
  dm_kernel_id kernel;
} rule;

#define NO_LIMIT INT64_MAX

/* cuBLAS loses up to three quarters of its speed if rows are not multiples of 16 bytes, and must
 * cut C into small pieces to be reproducible; our own kernels do neither. It splits k, which ours
 * do not, so it wins if C has few tiles and k is long. wgmma copies B of i8 and TF32, which does
 * not pay for a few rows. In TF32 cuBLAS loses a quarter when it adds to C. In f64, and in f32
 * below 2^28, it is at most 3 % faster, and a second of products does not make up for the 40 ms of
 * its first call. */
static const rule rules[] = {
    {DM_KERNEL_HALF | DM_KERNEL_I8, 1, NO_LIMIT, NO_LIMIT, REPRODUCIBLE, DM_KERNEL_wgmma},
    {DM_KERNEL_HALF | DM_KERNEL_I8, 1, NO_LIMIT, NO_LIMIT, REPRODUCIBLE, DM_KERNEL_mma},
    {DM_KERNEL_TF32, 1, NO_LIMIT, NO_LIMIT, REPRODUCIBLE, DM_KERNEL_wgmma},
    {DM_KERNEL_TF32 | DM_KERNEL_F64, 1, NO_LIMIT, NO_LIMIT, REPRODUCIBLE, DM_KERNEL_mma},
    {DM_KERNEL_F32, 1, NO_LIMIT, NO_LIMIT, REPRODUCIBLE, DM_KERNEL_warp_tile},
    {DM_KERNEL_I8, 1, 1 << 23, NO_LIMIT, UNALIGNED, DM_KERNEL_mma},
    {DM_KERNEL_HALF, 1, NO_LIMIT, NO_LIMIT, UNALIGNED, DM_KERNEL_wgmma},
    {DM_KERNEL_TF32, 1 << 19, NO_LIMIT, NO_LIMIT, UNALIGNED, DM_KERNEL_wgmma},
    {DM_KERNEL_TF32, 1 << 24, NO_LIMIT, NO_LIMIT, ADDING, DM_KERNEL_wgmma},
    {DM_KERNEL_F64, 1 << 22, NO_LIMIT, NO_LIMIT, ANY_PRODUCT, DM_KERNEL_mma},
    {DM_KERNEL_F32, 1 << 22, 1 << 28, NO_LIMIT, ANY_PRODUCT, DM_KERNEL_warp_tile},
    {DM_KERNEL_I8, 1 << 20, NO_LIMIT, NO_LIMIT, ANY_PRODUCT, DM_KERNEL_wgmma},
    {DM_KERNEL_HALF, 1 << 22, NO_LIMIT, NO_LIMIT, ANY_PRODUCT, DM_KERNEL_wgmma},
    {DM_KERNEL_HALF, 1, 1 << 22, 512, ANY_PRODUCT, DM_KERNEL_wgmma},
};

bool dm_cuda_is_aligned(dm_view view) {
  const int64_t size = dm_dtype_size(view.dtype);
  return (uintptr_t)view.base % 16 == 0 && view.cols * size % 16 == 0 &&
         (view.rows == 1 || view.row_stride * size % 16 == 0);
}

const dm_kernel *dm_cuda_fastest(const dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                 bool accumulate) {
  const bool unaligned = !dm_cuda_is_aligned(a) || !dm_cuda_is_aligned(b) || !dm_cuda_is_aligned(c);
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    const rule *r = &rules[i];
    const dm_kernel *kernel = &dm_cuda_registry()[r->kernel];
    const dm_operand operand = dm_cuda_operand(gpu, a.dtype);
    if (!(r->types >> operand & 1) || !dm_cuda_multiplies(kernel, a.dtype, operand)) continue;
    if (!dm_cuda_runs(gpu, kernel)) continue;
    if (r->when == REPRODUCIBLE ? gpu->tile == 0 : gpu->tile > 0) continue;
    if (r->when == UNALIGNED && !unaligned) continue;
    if (r->when == ADDING && !accumulate) continue;
    const int64_t elements = c.rows * c.cols;
    if (elements >= r->least && elements < r->below && a.cols <= r->depth) return kernel;
  }
  return &dm_cuda_registry()[DM_KERNEL_cublas];
}

dm_status dm_cuda_transpose(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                            bool in_order, dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_cuda_lane_name lane = in_order ? DM_COMPUTE : DM_INWARD;
  const dm_transposition work = {
      .to = to, .from = from, .conjugate = conjugate, .stream = gpu->lanes[lane].stream};
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_transpose_tiled(&work));
  return dm_cuda_post(gpu, lane, done);
}

dm_status dm_cuda_epilogue(dm_backend *backend, dm_view c, dm_view sums, dm_view old,
                           const double alpha[2], const double beta[2], dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  const dm_epilogue work = {.c = c,
                            .sums = sums,
                            .old = old,
                            .count = 1,
                            .alpha = {alpha[0], alpha[1]},
                            .beta = {beta[0], beta[1]},
                            .stream = gpu->lanes[DM_COMPUTE].stream};
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_epilogue(&work));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}

dm_status dm_cuda_mirror(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                         dm_event *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_mirror(square, first, conjugate, gpu->lanes[DM_COMPUTE].stream));
  return dm_cuda_post(gpu, DM_COMPUTE, done);
}
