/* Products by cuBLAS, which is column-major: a row-major C = A B is C^T = B^T A^T there, so the
 * operands swap places and nothing is transposed. */
#include "backend/cuda_gemm.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "backend/whole_product.h"
#include "core/buffer.h"
#include "kernels/kernels.h"

/* Alpha or beta: a number of the compute type, or two. cuBLAS reads complex ones as double2, whose
 * address is a multiple of 16 bytes; elsewhere some of its products end with SIGSEGV. */
typedef union cuda_scalar {
  _Alignas(16) double f64[2];
  float f32[2];
  int32_t i32;
} cuda_scalar;

static const cuda_scalar one_f64 = {.f64 = {1.0}}, zero_f64 = {.f64 = {0.0}};
static const cuda_scalar one_f32 = {.f32 = {1.0f}}, zero_f32 = {.f32 = {0.0f}};
static const cuda_scalar one_i32 = {.i32 = 1}, zero_i32 = {.i32 = 0};

static cuda_scalar cuda_scalar_of(const double value[2], cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return (cuda_scalar){.f64 = {value[0], value[1]}};
  if (compute == CUBLAS_COMPUTE_32I) return (cuda_scalar){.i32 = (int32_t)value[0]};
  return (cuda_scalar){.f32 = {(float)value[0], (float)value[1]}};
}

static const dm_cuda_types cuda_types[DM_DTYPE_COUNT] = {
    [DM_F64] = {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, &one_f64, &zero_f64},
    [DM_F32] = {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, &one_f32, &zero_f32},
    [DM_F16] = {CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, &one_f32, &zero_f32},
    [DM_BF16] = {CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, &one_f32, &zero_f32},
    [DM_C64] = {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, &one_f32, &zero_f32},
    [DM_C128] = {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, &one_f64, &zero_f64},
    [DM_I8] = {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, &one_i32, &zero_i32},
};

const dm_cuda_types *dm_cuda_types_of(dm_dtype dtype) {
  return dtype < DM_DTYPE_COUNT && cuda_types[dtype].one ? &cuda_types[dtype] : NULL;
}

/* Of the size that cuBLAS's manual recommends for Hopper. Our own allocation, as results are only
 * repeatable with a fixed workspace. */
enum { WORKSPACE = 32 << 20 };

dm_status dm_cuda_need_workspace(dm_cuda *gpu) {
  if (gpu->workspace) return DM_OK;
  DM_TRY(dm_cuda_alloc(&gpu->base, DM_DEVICE, WORKSPACE, &gpu->workspace));
  gpu->workspace_bytes = WORKSPACE;
  return DM_OK;
}

dm_status dm_cuda_need_cublas(dm_cuda *gpu) {
  if (gpu->cublas) return DM_OK;
  DM_TRY(dm_cuda_need_workspace(gpu));
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

dm_status dm_cuda_need_handle(dm_cuda *gpu, cublasHandle_t *handle, cudaStream_t stream) {
  if (!*handle) {
    DM_CUBLAS(gpu, cublasCreate(handle));
    DM_CUBLAS(gpu, cublasSetPointerMode(*handle, CUBLAS_POINTER_MODE_HOST));
    DM_CUBLAS(gpu, cublasSetAtomicsMode(*handle, CUBLAS_ATOMICS_NOT_ALLOWED));
    DM_CUBLAS(gpu, cublasSetMathMode(*handle, CUBLAS_DEFAULT_MATH));
  }
  DM_CUBLAS(gpu, cublasSetStream(*handle, stream));
  return DM_OK;
}

static dm_status post_call(const dm_cuda *gpu, cublasHandle_t handle, const dm_whole_product *p,
                           int64_t count, dm_product_steps step) {
  static const cublasOperation_t ops[] = {
      [DM_BLAS_N] = CUBLAS_OP_N, [DM_BLAS_T] = CUBLAS_OP_T, [DM_BLAS_C] = CUBLAS_OP_C};
  const dm_cuda_types *t = dm_cuda_types_of(p->a.dtype);
  const cudaDataType out = p->c.dtype == p->a.dtype ? t->in : t->out;
  const dm_blas_product g = dm_blas_product_of(p);
  const cuda_scalar alpha = cuda_scalar_of(p->alpha, t->compute),
                    beta = cuda_scalar_of(p->beta, t->compute);
  const bool turned = dm_blas_by_rows(p->c); /* then B is on the left */
  const cublasStatus_t answer =
      count == 1 ? cublasGemmEx_64(handle, ops[g.left.op], ops[g.right.op], g.rows, g.cols, g.depth,
                                   &alpha, g.left.base, t->in, g.left.leading, g.right.base, t->in,
                                   g.right.leading, &beta, p->c.base, out, g.leading,
                                   dm_cuda_compute(gpu, t), CUBLAS_GEMM_DEFAULT)
                 : cublasGemmStridedBatchedEx_64(
                       handle, ops[g.left.op], ops[g.right.op], g.rows, g.cols, g.depth, &alpha,
                       g.left.base, t->in, g.left.leading, turned ? step.b : step.a, g.right.base,
                       t->in, g.right.leading, turned ? step.a : step.b, &beta, p->c.base, out,
                       g.leading, step.c, count, dm_cuda_compute(gpu, t), CUBLAS_GEMM_DEFAULT);
  if (answer == CUBLAS_STATUS_SUCCESS) return DM_OK;
  return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
}

/* Pieces of about equal length, one after the other: their sums are added in C's type. */
dm_status dm_cuda_post_products(const dm_cuda *gpu, cublasHandle_t handle,
                                const dm_whole_product *p, int64_t count, dm_product_steps step) {
  const int64_t k = p->a.cols, pieces = p->piece > 0 ? dm_max(1, dm_ceil_div(k, p->piece)) : 1;
  const int64_t each = pieces > 1 ? dm_min(p->piece, dm_round_up(dm_ceil_div(k, pieces), 8)) : k;
  dm_whole_product part = *p;
  if (pieces == 1) return post_call(gpu, handle, p, count, step);
  for (int64_t first = 0; first < k; first += each) {
    const int64_t length = dm_min(each, k - first);
    part.a = dm_view_sub(p->a, 0, first, p->a.rows, length);
    part.b = dm_view_sub(p->b, first, 0, length, p->b.cols);
    DM_TRY(post_call(gpu, handle, &part, count, step));
    part.beta[0] = 1.0, part.beta[1] = 0.0;
  }
  return DM_OK;
}

/* Products of i8 by cuBLAS.
 *
 * It is fast only if k runs along the rows of both operands, rows start at multiples of 16 bytes,
 * and the width of C is a multiple of 4. So B is transposed to our own memory and its rows are
 * padded with zeros: whatever follows the rows of A is multiplied by 0. Anything else that does not
 * fit is copied too, a band of rows at a time. Integers are exact, so copies do not change the
 * result. */

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
static cublasStatus_t cuda_product(dm_cuda *gpu, dm_view c, dm_view a, dm_view turned,
                                   bool accumulate) {
  const dm_cuda_types *t = dm_cuda_types_of(DM_I8);
  return cublasGemmEx_64(gpu->cublas, CUBLAS_OP_T, CUBLAS_OP_N, c.cols, c.rows, turned.cols, t->one,
                         turned.base, t->in, turned.row_stride, a.base, t->in, a.row_stride,
                         accumulate ? t->one : t->zero, c.base, t->out, dm_cuda_leading(c),
                         t->compute, CUBLAS_GEMM_DEFAULT);
}

/* Writes B^T, padded with zeros to the size of TURNED. */
static dm_status cuda_turn(dm_cuda *gpu, dm_view turned, dm_view b) {
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
  const cublasStatus_t answer = cuda_product(gpu, fit_c, fit_a, turned, accumulate);
  if (answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE)
    return dm_cuda_launch(gpu, DM_KERNEL_tiled_32, c, a, b, accumulate);
  if (answer != CUBLAS_STATUS_SUCCESS)
    return dm_cublas_error(gpu, answer, "cublasGemmEx_64", __FILE__, __LINE__, __func__);
  if (fit_c.base == c.base) return DM_OK;
  return dm_cuda_copy_on(gpu, stream, c, dm_view_sub(fit_c, 0, 0, c.rows, c.cols));
}

/* Multiplies COLS columns from COL of C; copies of operands are made band by band. */
static dm_status cuda_multiply_columns(dm_cuda *gpu, dm_view c, dm_view a, dm_view turned,
                                       dm_view b, bool accumulate, int64_t col, int64_t cols,
                                       char *room) {
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
  DM_TRY(cuda_turn(gpu, turned, b));
  const int64_t most = c_is_aligned(c) ? c.cols / 4 * 4 : 0; /* the others are copied */
  DM_TRY(cuda_multiply_columns(gpu, c, a, turned, b, accumulate, 0, most, room));
  return cuda_multiply_columns(gpu, c, a, turned, b, accumulate, most, c.cols - most, room);
}

/* Makes library products, whose sums depend on how C is cut, reproducible. */

dm_view dm_cuda_take(char **room, dm_dtype dtype, int64_t rows, int64_t cols, int64_t stride) {
  const dm_view view = dm_view_strided(*room, dtype, DM_DEVICE, rows, cols, stride);
  *room += dm_round_up(rows * stride * dm_dtype_size(dtype), 256);
  return view;
}

/* A library selects its kernel, and so the order of its sums, by shape and alignment, but the
 * result must not depend on how C was cut into blocks. So C is computed in pieces of tile x tile
 * from the block's origin (blocks start at multiples of the tile), and always in the same place:
 * operands are copied to our own memory, whose alignment and strides depend only on k and the tile.
 * The last pieces are narrower, but they are the last on any grid, as they end at the matrix's
 * border. k is not cut: panels already have fixed borders. */
dm_status dm_cuda_multiply_pieces(dm_cuda *gpu, dm_cuda_library *multiply, dm_view c, dm_view a,
                                  dm_view b, bool accumulate) {
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
    const dm_view b_piece = dm_cuda_take(&memory, b.dtype, k, width, wide);
    DM_TRY(dm_cuda_copy_on(gpu, stream, b_piece, b_part));
    for (int64_t i = 0; i < c.rows; i += tile) {
      const int64_t height = dm_min(tile, c.rows - i);
      const dm_view a_part = dm_view_sub(a, i, 0, height, k);
      const dm_view c_part = dm_view_sub(c, i, j, height, width);
      char *rest = memory;
      const dm_view c_piece = dm_cuda_take(&rest, c.dtype, height, width, wide);
      const dm_view a_piece = dm_cuda_take(&rest, a.dtype, height, k, deep);
      DM_TRY(dm_cuda_copy_on(gpu, stream, a_piece, a_part));
      if (accumulate) DM_TRY(dm_cuda_copy_on(gpu, stream, c_piece, c_part));
      DM_TRY(multiply(gpu, c_piece, a_piece, b_piece, accumulate));
      DM_TRY(dm_cuda_copy_on(gpu, stream, c_part, c_piece));
    }
  }
  return DM_OK;
}

/* A plain library call, the baseline for products. */

static dm_status time_between(dm_cuda *gpu, cudaEvent_t begin, cudaEvent_t end, dm_view c,
                              dm_view a, dm_view b, double *seconds) {
  cudaStream_t stream = gpu->lanes[DM_COMPUTE].stream;
  DM_CUDA(gpu, cudaEventRecord(begin, stream));
  if (a.dtype == DM_I8) /* includes the transposition that cuBLAS's fast kernels need */
    DM_TRY(dm_cuda_multiply_i8(gpu, c, a, b, false));
  else
    DM_TRY(dm_cuda_product(gpu, c, a, b, false));
  DM_CUDA(gpu, cudaEventRecord(end, stream));
  DM_CUDA(gpu, cudaEventSynchronize(end));
  float milliseconds = 0.0f;
  DM_CUDA(gpu, cudaEventElapsedTime(&milliseconds, begin, end));
  *seconds = 1e-3 * (double)milliseconds;
  return DM_OK;
}

dm_status dm_cuda_time_direct(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                              double *seconds) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  cudaEvent_t begin, end;
  DM_CUDA(gpu, cudaEventCreate(&begin));
  cudaError_t error = cudaEventCreate(&end);
  if (error != cudaSuccess) {
    (void)cudaEventDestroy(begin);
    return dm_cuda_error(gpu, error, "cudaEventCreate", __FILE__, __LINE__, __func__);
  }
  dm_status status = time_between(gpu, begin, end, c, a, b, seconds);
  (void)cudaEventDestroy(begin);
  (void)cudaEventDestroy(end);
  return status;
}

/* ---- cuBLASLt ----
 *
 * The algorithm is queried once per shape and kept, so that a panel of a
 * known shape costs only a launch. */

enum { CUDA_SHAPES = 8 }; /* shapes remembered; panels of one job have at most four */

/* Key of a chosen algorithm. */
typedef struct cuda_shape {
  dm_dtype dtype;
  int64_t m, n, k, stride[3];
  uint32_t alignment[3]; /* of C, A, B in bytes, at most 256 */
  bool accumulate;
  dm_operand operand;
} cuda_shape;

typedef struct choice {
  cuda_shape of;
  cublasLtMatmulAlgo_t algorithm;
} choice;

struct dm_cuda_lt {
  cublasLtHandle_t handle;
  choice choices[CUDA_SHAPES];
  int count, next;
};

/* The objects of one call, in column-major order: its first operand is our B. */
typedef struct cuda_call {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t c, a, b;
  cublasLtMatmulPreference_t preference;
} cuda_call;

static void call_close(cuda_call *x) {
  if (x->preference) (void)cublasLtMatmulPreferenceDestroy(x->preference);
  if (x->c) (void)cublasLtMatrixLayoutDestroy(x->c);
  if (x->a) (void)cublasLtMatrixLayoutDestroy(x->a);
  if (x->b) (void)cublasLtMatrixLayoutDestroy(x->b);
  if (x->operation) (void)cublasLtMatmulDescDestroy(x->operation);
}

static dm_status cuda_layout_of(dm_cuda *gpu, dm_view view, cudaDataType type,
                                cublasLtMatrixLayout_t *layout) {
  DM_CUBLAS(gpu, cublasLtMatrixLayoutCreate(layout, type, (uint64_t)view.cols, (uint64_t)view.rows,
                                            dm_cuda_leading(view)));
  return DM_OK;
}

static dm_status call_open(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, cuda_call *x) {
  const dm_cuda_types *t = dm_cuda_types_of(a.dtype);
  DM_CUBLAS(gpu, cublasLtMatmulDescCreate(&x->operation, dm_cuda_compute(gpu, t), t->scale));
  DM_TRY(cuda_layout_of(gpu, c, t->out, &x->c));
  DM_TRY(cuda_layout_of(gpu, a, t->in, &x->a));
  return cuda_layout_of(gpu, b, t->in, &x->b);
}

static uint32_t cuda_alignment_of(dm_view view) {
  uint32_t alignment = 256;
  while ((uintptr_t)view.base % alignment) alignment /= 2;
  return alignment;
}

static cuda_shape cuda_shape_of(const dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                bool accumulate) {
  cuda_shape s;
  memset(&s, 0, sizeof s); /* shapes are compared as bytes */
  s.dtype = a.dtype;
  s.m = c.rows, s.n = c.cols, s.k = a.cols;
  const dm_view views[3] = {c, a, b};
  for (int i = 0; i < 3; i++) {
    s.stride[i] = dm_cuda_leading(views[i]);
    s.alignment[i] = cuda_alignment_of(views[i]);
  }
  s.accumulate = accumulate, s.operand = gpu->operand;
  return s;
}

static dm_status prefer(dm_cuda *gpu, const cuda_shape *s, cuda_call *x) {
  DM_CUBLAS(gpu, cublasLtMatmulPreferenceCreate(&x->preference));
  const uint64_t workspace = (uint64_t)gpu->workspace_bytes;
  /* Partial sums of blocks are added in a fixed order, or k is not split. */
  const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const struct {
    cublasLtMatmulPreferenceAttributes_t name;
    const void *value;
    size_t bytes;
  } wishes[] = {
      {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
      {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->alignment[0], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->alignment[0], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->alignment[2], sizeof(uint32_t)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->alignment[1], sizeof(uint32_t)},
  };
  for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
    DM_CUBLAS(gpu, cublasLtMatmulPreferenceSetAttribute(x->preference, wishes[i].name,
                                                        wishes[i].value, wishes[i].bytes));
  return DM_OK;
}

/* Finds the library's first proposal for S. */
static dm_status cuda_choose(dm_cuda *gpu, const cuda_shape *s, cuda_call *x,
                             const cublasLtMatmulAlgo_t **algorithm) {
  dm_cuda_lt *lt = gpu->lt;
  for (int i = 0; i < lt->count; i++)
    if (memcmp(&lt->choices[i].of, s, sizeof *s) == 0) {
      *algorithm = &lt->choices[i].algorithm;
      return DM_OK;
    }
  DM_TRY(prefer(gpu, s, x));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  DM_CUBLAS(gpu, cublasLtMatmulAlgoGetHeuristic(lt->handle, x->operation, x->b, x->a, x->c, x->c,
                                                x->preference, 1, &result, &found));
  if (found == 0) return dm_fail(DM_E_DEVICE, "cuBLASLt has no algorithm for this product");
  choice *kept = &lt->choices[lt->next];
  lt->next = (lt->next + 1) % CUDA_SHAPES;
  lt->count = (int)dm_min(lt->count + 1, CUDA_SHAPES);
  *kept = (choice){.of = *s, .algorithm = result.algo};
  memcpy(&kept->of, s, sizeof *s);
  *algorithm = &kept->algorithm;
  return DM_OK;
}

static dm_status cuda_cublas_multiply(dm_cuda *gpu, dm_view c, dm_view a, dm_view b,
                                      bool accumulate, cuda_call *x) {
  const dm_cuda_types *t = dm_cuda_types_of(a.dtype);
  const cuda_shape s = cuda_shape_of(gpu, c, a, b, accumulate);
  const cublasLtMatmulAlgo_t *algorithm = NULL;
  DM_TRY(call_open(gpu, c, a, b, x));
  DM_TRY(cuda_choose(gpu, &s, x, &algorithm));
  DM_CUBLAS(gpu, cublasLtMatmul(gpu->lt->handle, x->operation, t->one, b.base, x->b, a.base, x->a,
                                accumulate ? t->one : t->zero, c.base, x->c, c.base, x->c,
                                algorithm, gpu->workspace, (size_t)gpu->workspace_bytes,
                                gpu->lanes[DM_COMPUTE].stream));
  return DM_OK;
}

static dm_status cuda_cublas_open(dm_cuda *gpu) {
  DM_TRY(dm_cuda_need_workspace(gpu));
  DM_TRY(dm_buffer_table(1, &gpu->lt));
  DM_CUBLAS(gpu, cublasLtCreate(&gpu->lt->handle));
  return DM_OK;
}

dm_status dm_cuda_product_lt(dm_cuda *gpu, dm_view c, dm_view a, dm_view b, bool accumulate) {
  if (!gpu->lt) DM_TRY(cuda_cublas_open(gpu));
  cuda_call x = {0};
  dm_status status = cuda_cublas_multiply(gpu, c, a, b, accumulate, &x);
  call_close(&x);
  return status;
}

void dm_cuda_close_lt(dm_cuda *gpu) {
  if (gpu->lt && gpu->lt->handle) (void)cublasLtDestroy(gpu->lt->handle);
  free(gpu->lt);
  gpu->lt = NULL;
}
