#include "backend/cpu.h"

#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/probe.h"
#include "backend/whole_product.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/elementary.h"

enum {
  ROWS_LEAST = 512, /* rows of a piece: with fewer, packing B again costs more than 1 % */
  ROWS_WIDENED = 1024,
  CPU_COLUMNS = 4096,
  CPU_SLICE = 384, /* of k: OpenBLAS packs as much at a time, so a cut there is free */
  CPU_DEPTH =
      1024, /* of k, for widened slices: int8 products fit f32 exactly, 1024 * 2^14 = 2^24 */
};

_Static_assert(sizeof(float) * (ROWS_WIDENED * CPU_DEPTH + CPU_DEPTH * CPU_COLUMNS +
                                ROWS_WIDENED * CPU_COLUMNS) ==
                   DM_CPU_SCRATCH,
               "what it says that it takes");

static const double piece_flops = 1.6e9; /* per thread: some 20 ms between two polls for messages */

static const double cpu_call_flops =
    4e6; /* a call of the library for fewer takes longer than these */

/* Cuts k into equal slices, multiples of 8 but for the last: of CPU_SLICE, or as many at a time as
 * make a call worth while if C, ROWS x COLS, is small. */
static int64_t slice_of(int64_t rows, int64_t cols, int64_t k) {
  const double each = 2.0 * (double)rows * (double)cols * CPU_SLICE;
  const int64_t most = CPU_SLICE * dm_max(1, (int64_t)(cpu_call_flops / fmax(1.0, each)));
  int64_t slices = dm_max(1, dm_ceil_div(k, most));
  return dm_max(1, dm_round_up(dm_ceil_div(k, slices), 8));
}

/* Tiles of a fixed size, enough to keep the threads busy for a while. */
static dm_cpu_box box_of_tiles(int64_t tile, int threads, int64_t k) {
  const int64_t wide = 4, high = dm_max(1, dm_ceil_div(4 * (int64_t)threads, wide));
  return (dm_cpu_box){high * tile, wide * tile, k, tile, tile};
}

dm_cpu_box dm_cpu_piece(dm_dtype work, int64_t tile, int threads, int64_t rows, int64_t cols,
                        int64_t k) {
  if (tile > 0 && !dm_dtype_is_short(work)) return box_of_tiles(tile, threads, dm_max(1, k));
  if (tile > 0) return (dm_cpu_box){tile, tile, dm_max(1, k), tile, tile};
  dm_cpu_box box = {.rows = ROWS_WIDENED,
                    .cols = dm_max(1, dm_min(cols, CPU_COLUMNS)),
                    .depth = dm_max(1, k),
                    .block_rows = ROWS_WIDENED,
                    .block_cols = CPU_COLUMNS};
  if (dm_dtype_is_short(work)) return box;
  box.depth = slice_of(rows, cols, k);
  const double each = dm_dtype_is_complex(work) ? 8 : 2;
  double wanted = piece_flops * threads / (each * (double)box.cols * (double)box.depth);
  int64_t height = wanted > 1 << 20 ? 1 << 20 : dm_max(ROWS_LEAST, (int64_t)wanted);
  int64_t pieces = dm_max(1, rows / height); /* of equal height: no small one remains */
  box.rows = dm_max(1, dm_round_up(dm_ceil_div(rows, pieces), 64));
  box.block_rows = box.rows;
  box.block_cols = box.cols;
  return box;
}

void dm_cpu_scratch_free(dm_cpu_scratch *scratch) {
  free(scratch->a);
  free(scratch->b);
  free(scratch->c);
}

static dm_status scratch_ready(dm_cpu_scratch *scratch) {
  const int64_t size = sizeof(float);
  if (!scratch->a) DM_TRY(dm_buffer_alloc(ROWS_WIDENED * CPU_DEPTH * size, (void **)&scratch->a));
  if (!scratch->b) DM_TRY(dm_buffer_alloc(CPU_DEPTH * CPU_COLUMNS * size, (void **)&scratch->b));
  if (!scratch->c) DM_TRY(dm_buffer_alloc(ROWS_WIDENED * CPU_COLUMNS * size, (void **)&scratch->c));
  return DM_OK;
}

/* An operand of CBLAS: by rows, or transposed by its strides. A matrix of one line may have any
 * stride; CBLAS requires at least the line's elements. */
typedef struct cpu_operand {
  enum CBLAS_TRANSPOSE op;
  int leading;
} cpu_operand;

static cpu_operand cpu_operand_of(dm_view v) {
  const bool turned = v.col_stride != 1;
  const dm_view lines = turned ? dm_view_transpose(v) : v;
  return (cpu_operand){turned ? CblasTrans : CblasNoTrans,
                       (int)dm_max(lines.row_stride, dm_max(1, lines.cols))};
}

/* Converts MATRIX, line by line, to packed f32, exactly; returns its rows' stride. */
static cpu_operand cpu_widen(float *dst, dm_view matrix) {
  const cpu_operand o = cpu_operand_of(matrix);
  if (o.op == CblasTrans) matrix = dm_view_transpose(matrix);
  for (int64_t i = 0; i < matrix.rows; i++, dst += matrix.cols) {
    const void *row = dm_view_at(matrix, i, 0);
    if (matrix.dtype == DM_F16)
      for (int64_t j = 0; j < matrix.cols; j++) dst[j] = dm_f16_to_f32(((const uint16_t *)row)[j]);
    else if (matrix.dtype == DM_BF16)
      for (int64_t j = 0; j < matrix.cols; j++) dst[j] = dm_bf16_to_f32(((const uint16_t *)row)[j]);
    else
      for (int64_t j = 0; j < matrix.cols; j++) dst[j] = (float)((const int8_t *)row)[j];
  }
  return (cpu_operand){o.op, (int)dm_max(1, matrix.cols)};
}

/* C (+)= P; P is packed f32 and holds integers. */
static void cpu_add_integers(dm_view c, const float *p, bool accumulate) {
  for (int64_t i = 0; i < c.rows; i++, p += c.cols) {
    int32_t *row = dm_view_at(c, i, 0);
    if (accumulate)
      for (int64_t j = 0; j < c.cols; j++) row[j] += (int32_t)p[j];
    else
      for (int64_t j = 0; j < c.cols; j++) row[j] = (int32_t)p[j];
  }
}

void dm_cpu_sgemm(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t ldb,
                  int64_t m, int64_t n, int64_t k, bool accumulate) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a, (int)lda,
              b, (int)ldb, accumulate ? 1.0f : 0.0f, c, (int)ldc);
}

static dm_status product_widened(dm_view c, dm_view a, dm_view b, bool accumulate,
                                 dm_cpu_scratch *scratch) {
  DM_TRY(scratch_ready(scratch));
  const int m = (int)c.rows, n = (int)c.cols;
  const bool whole = c.dtype == DM_I32;
  float *to = whole ? scratch->c : c.base;
  for (int64_t k = 0; k < a.cols; k += CPU_DEPTH) {
    const int64_t depth = dm_min(CPU_DEPTH, a.cols - k);
    const cpu_operand l = cpu_widen(scratch->a, dm_view_sub(a, 0, k, a.rows, depth));
    const cpu_operand r = cpu_widen(scratch->b, dm_view_sub(b, k, 0, depth, b.cols));
    cblas_sgemm(CblasRowMajor, l.op, r.op, m, n, (int)depth, 1.0f, scratch->a, l.leading,
                scratch->b, r.leading, accumulate && !whole ? 1.0f : 0.0f, to,
                whole ? n : (int)c.row_stride);
    if (whole) cpu_add_integers(c, scratch->c, accumulate);
    accumulate = true;
  }
  return DM_OK;
}

/* ---- products by the library ---- */

static const enum CBLAS_TRANSPOSE blas_ops[] = {
    [DM_BLAS_N] = CblasNoTrans, [DM_BLAS_T] = CblasTrans, [DM_BLAS_C] = CblasConjTrans};

static void multiply_matrix(dm_dtype dtype, const dm_blas_product *g, const double alpha[2],
                            const double beta[2], void *c) {
  const enum CBLAS_TRANSPOSE left = blas_ops[g->left.op], right = blas_ops[g->right.op];
  const int m = (int)g->rows, n = (int)g->cols, k = (int)g->depth;
  const int lda = (int)g->left.leading, ldb = (int)g->right.leading, ldc = (int)g->leading;
  const float alphas[2] = {(float)alpha[0], (float)alpha[1]};
  const float betas[2] = {(float)beta[0], (float)beta[1]};
  if (dtype == DM_F64)
    cblas_dgemm(CblasColMajor, left, right, m, n, k, *alpha, g->left.base, lda, g->right.base, ldb,
                *beta, c, ldc);
  else if (dtype == DM_F32)
    cblas_sgemm(CblasColMajor, left, right, m, n, k, *alphas, g->left.base, lda, g->right.base, ldb,
                *betas, c, ldc);
  else if (dtype == DM_C128)
    cblas_zgemm(CblasColMajor, left, right, m, n, k, alpha, g->left.base, lda, g->right.base, ldb,
                beta, c, ldc);
  else
    cblas_cgemm(CblasColMajor, left, right, m, n, k, alphas, g->left.base, lda, g->right.base, ldb,
                betas, c, ldc);
}

/* A C of one column is op(LEFT) x; one of one row is that of the transposed product. False: CBLAS
 * has no such op, or there is nothing to add. */
static bool multiply_vector(dm_dtype dtype, const dm_blas_product *g, const double alpha[2],
                            const double beta[2], void *c) {
  const bool column = g->cols == 1;
  const dm_blas_operand *const a = column ? &g->left : &g->right;
  const dm_blas_operand *const x = column ? &g->right : &g->left;
  if ((!column && g->rows != 1) || g->depth == 0 || x->op == DM_BLAS_C ||
      (!column && a->op == DM_BLAS_C))
    return false;
  const enum CBLAS_TRANSPOSE op = column               ? blas_ops[a->op]
                                  : a->op == DM_BLAS_N ? CblasTrans
                                                       : CblasNoTrans;
  const int64_t length = column ? g->rows : g->cols;
  const int m = (int)(op == CblasNoTrans ? length : g->depth);
  const int n = (int)(op == CblasNoTrans ? g->depth : length);
  const int lda = (int)a->leading, to = column ? 1 : (int)g->leading;
  const int from = column == (x->op == DM_BLAS_N) ? 1 : (int)x->leading;
  const float alphas[2] = {(float)alpha[0], (float)alpha[1]};
  const double one[2] = {1.0, 0.0};
  const float betas[2] = {(float)beta[0], (float)beta[1]};
  const size_t size = (size_t)dm_dtype_size(dtype);
  if (dm_is_zero(beta)) {
    /* Some libraries multiply what is there by 0. */
    for (int64_t i = 0; i < length; i++) memset((char *)c + (size_t)(i * to) * size, 0, size);
    return multiply_vector(dtype, g, alpha, one, c);
  }
  if (dtype == DM_F64)
    cblas_dgemv(CblasColMajor, op, m, n, *alpha, a->base, lda, x->base, from, *beta, c, to);
  else if (dtype == DM_F32)
    cblas_sgemv(CblasColMajor, op, m, n, *alphas, a->base, lda, x->base, from, *betas, c, to);
  else if (dtype == DM_C128)
    cblas_zgemv(CblasColMajor, op, m, n, alpha, a->base, lda, x->base, from, beta, c, to);
  else
    cblas_cgemv(CblasColMajor, op, m, n, alphas, a->base, lda, x->base, from, betas, c, to);
  return true;
}

static void multiply_call(const dm_whole_product *p) {
  const dm_blas_product g = dm_blas_product_of(p);
  /* For vectors gemm packs the matrix, which takes longer than the product. */
  if (!multiply_vector(p->a.dtype, &g, p->alpha, p->beta, p->c.base))
    multiply_matrix(p->a.dtype, &g, p->alpha, p->beta, p->c.base);
}

static const double small_product = 1e6; /* multiplications for which OpenBLAS has own kernels */

/* Of k per call. Vectors and small products are summed in one chain, whose errors grow with k, not
 * with its root, where they are alike (constant data): up to a third of a roundoff for each term.
 * The verification allows 8 roundoffs times the root of k: chains of 16 roots stay below that in
 * any library, and the matrix of a vector is still read in long pieces. Larger products have chains
 * of CPU_SLICE anyway. */
static int64_t chain_of(int64_t rows, int64_t cols, int64_t k) {
  const double c = (double)rows * (double)cols;
  if (rows > 1 && cols > 1 && c * (double)k > small_product) return dm_max(1, k);
  const int64_t most = dm_max(CPU_SLICE, (int64_t)(16.0 * sqrt((double)k)));
  const int64_t chains = dm_max(1, dm_ceil_div(k, most));
  return dm_max(1, dm_round_up(dm_ceil_div(k, chains), 8));
}

static void cpu_multiply_all(const dm_whole_product *p) {
  const int64_t depth = p->a.cols, chain = chain_of(p->c.rows, p->c.cols, depth);
  dm_whole_product part = *p;
  if (depth <= chain) {
    multiply_call(p);
    return;
  }
  for (int64_t k = 0, count; k < depth; k += count) {
    count = dm_min(chain, depth - k);
    part.a = dm_view_sub(p->a, 0, k, p->a.rows, count);
    part.b = dm_view_sub(p->b, k, 0, count, p->b.cols);
    multiply_call(&part);
    part.beta[0] = 1.0;
    part.beta[1] = 0.0;
  }
}

/* One call, whose bits are those of the same tile on any grid. */
static void multiply_alike(const dm_whole_product *p) {
  const dm_blas_product g = dm_blas_product_of(p);
  multiply_matrix(p->a.dtype, &g, p->alpha, p->beta, p->c.base);
}

static void cpu_zero(dm_view c) {
  size_t row = (size_t)(c.cols * dm_dtype_size(c.dtype));
  for (int64_t i = 0; i < c.rows; i++) memset(dm_view_at(c, i, 0), 0, row);
}

dm_status dm_cpu_fits(dm_view c, dm_view a, dm_view b) {
  const int64_t longest = dm_max(dm_max(a.row_stride, a.col_stride),
                                 dm_max(dm_max(b.row_stride, b.col_stride), c.row_stride));
  if (longest <= INT_MAX && a.cols <= INT_MAX) return DM_OK;
  return dm_hint(dm_fail(DM_E_DEVICE, "CBLAS counts in 32 bits; a row of %lld elements is longer",
                         (long long)longest),
                 "more ranks, or --grid, cut the matrices into smaller blocks");
}

dm_status dm_cpu_product(dm_view c, dm_view a, dm_view b, bool accumulate, bool alike,
                         dm_cpu_scratch *scratch) {
  if (a.cols == 0) {
    if (!accumulate) cpu_zero(c);
    return DM_OK;
  }
  if (dm_dtype_is_short(a.dtype)) return product_widened(c, a, b, accumulate, scratch);
  DM_TRY(dm_cpu_fits(c, a, b));
  if (dm_dtype_is_integer(a.dtype) || dm_dtype_size(dm_dtype_real(a.dtype)) < 4)
    return dm_fail(DM_E_BUG, "the cpu backend cannot multiply matrices of %s",
                   dm_dtype_name(a.dtype));
  const dm_whole_product product = {
      .c = c, .a = a, .b = b, .alpha = {1.0}, .beta = {accumulate ? 1.0 : 0.0}};
  if (alike)
    multiply_alike(&product);
  else
    cpu_multiply_all(&product);
  return DM_OK;
}

/* ---- whole products ---- */

bool dm_cpu_suits(const dm_whole_product *p) {
  const dm_whole_product one = dm_whole_entry(p, 0);
  const dm_blas_product all = dm_blas_product_of(&one);
  const int64_t sizes[] = {all.rows,         all.cols,          all.depth,
                           all.left.leading, all.right.leading, all.leading};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i] > INT_MAX) return false;
  return p->c.space == DM_HOST && p->c.dtype == p->a.dtype && !dm_dtype_is_short(p->a.dtype) &&
         !dm_dtype_is_integer(p->a.dtype) && all.left.op != DM_BLAS_NONE &&
         all.right.op != DM_BLAS_NONE;
}

/* The left operand alone tells the product; C by rows has the half below its diagonal above that of
 * BLAS. */
static void cpu_blas_multiply_half(const dm_whole_product *p) {
  const dm_blas_product g = dm_blas_product_of(p);
  const enum CBLAS_TRANSPOSE op = blas_ops[g.left.op];
  const int n = (int)g.rows, k = (int)g.depth, lda = (int)g.left.leading, ldc = (int)g.leading;
  const double *alpha = p->alpha, *beta = p->beta;
  const float alphas[2] = {(float)alpha[0], (float)alpha[1]};
  const float betas[2] = {(float)beta[0], (float)beta[1]};
  const bool hermitian = dm_whole_is_hermitian(p);
  if (p->a.dtype == DM_F64)
    cblas_dsyrk(CblasColMajor, CblasUpper, op, n, k, *alpha, g.left.base, lda, *beta, p->c.base,
                ldc);
  else if (p->a.dtype == DM_F32)
    cblas_ssyrk(CblasColMajor, CblasUpper, op, n, k, *alphas, g.left.base, lda, *betas, p->c.base,
                ldc);
  else if (p->a.dtype == DM_C128 && hermitian)
    cblas_zherk(CblasColMajor, CblasUpper, op, n, k, *alpha, g.left.base, lda, *beta, p->c.base,
                ldc);
  else if (p->a.dtype == DM_C128)
    cblas_zsyrk(CblasColMajor, CblasUpper, op, n, k, alpha, g.left.base, lda, beta, p->c.base, ldc);
  else if (hermitian)
    cblas_cherk(CblasColMajor, CblasUpper, op, n, k, *alphas, g.left.base, lda, *betas, p->c.base,
                ldc);
  else
    cblas_csyrk(CblasColMajor, CblasUpper, op, n, k, alphas, g.left.base, lda, betas, p->c.base,
                ldc);
}

void dm_cpu_half(dm_view c, dm_view a, bool accumulate) {
  const dm_whole_product product = {
      .c = c, .a = a, .b = dm_view_transpose(a), .alpha = {1.0}, .beta = {accumulate ? 1.0 : 0.0}};
  cpu_blas_multiply_half(&product);
}

/* With fewer multiplications half of them take OpenBLAS longer than all, and threads take longer to
 * mirror C than one. */
static const double least_halved = 1 << 25;

void dm_cpu_multiply(const dm_whole_product *p) {
  if (!p->symmetric) {
    cpu_multiply_all(p);
    return;
  }
  const dm_whole_product by_rows = dm_whole_by_rows(p);
  const int64_t n = p->c.rows;
  if ((double)n * (double)n * (double)p->a.cols < least_halved) {
    cpu_multiply_all(&by_rows);
    dm_mirror(by_rows.c, 0, 0, n, dm_whole_is_hermitian(p));
    return;
  }
  cpu_blas_multiply_half(&by_rows);
  dm_host_mirror_parallel(by_rows.c, 0, dm_whole_is_hermitian(p));
}

/* ---- small complex products ---- */

static const double most_real_flops = 2e6; /* which OpenBLAS takes for small */

int64_t dm_cpu_real_room(const dm_whole_product *p) {
  const double flops = 8.0 * (double)p->c.rows * (double)p->c.cols * (double)p->a.cols;
  const bool plain = p->alpha[1] == 0.0 && p->beta[1] == 0.0 && !p->conjugate_a &&
                     !p->conjugate_b && !p->symmetric;
  const bool rows = p->a.col_stride == 1 && p->b.col_stride == 1 && p->c.col_stride == 1;
  if (!dm_dtype_is_complex(p->a.dtype) || !plain || !rows || flops > most_real_flops) return 0;
  return 2 * p->b.rows * p->b.cols * dm_dtype_size(p->b.dtype);
}

/* Each row of B, and below it the same times i. */
#define SPREAD_ROWS(type)                                                                          \
  for (int64_t i = 0; i < b.rows; i++) {                                                           \
    const type *from = dm_view_at(b, i, 0);                                                        \
    type *to = (type *)room + 4 * i * b.cols, *turned = to + 2 * b.cols;                           \
    for (int64_t j = 0; j < 2 * b.cols; j += 2) {                                                  \
      to[j] = from[j];                                                                             \
      to[j + 1] = from[j + 1];                                                                     \
      turned[j] = -from[j + 1];                                                                    \
      turned[j + 1] = from[j];                                                                     \
    }                                                                                              \
  }

void dm_cpu_multiply_as_real(const dm_whole_product *p, void *room) {
  const dm_view b = p->b;
  dm_whole_product real = *p;
  if (b.dtype == DM_C64) {
    SPREAD_ROWS(float)
  } else {
    SPREAD_ROWS(double)
  }
  real.a = dm_view_parts(p->a);
  real.b = dm_view_row_major(room, dm_dtype_real(b.dtype), 2 * b.rows, 2 * b.cols);
  real.c = dm_view_parts(p->c);
  cpu_multiply_all(&real);
}

/* ---- the library ---- */

/* ---- the library's threads: CBLAS cannot set them; each library has its own call, found at run
 * time ---- */

typedef void (*set_function)(int);

/* dlsym returns an object pointer; POSIX guarantees that this conversion works. */
static void *symbol(const char *name) {
  return dlsym(RTLD_DEFAULT, name);
}

bool dm_cpu_set_threads(int threads) {
  bool done = false;
  static const char *const names[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                      "bli_thread_set_num_threads", "nvpl_blas_set_num_threads"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    set_function set;
    *(void **)&set = symbol(names[i]);
    if (set) set(threads);
    done |= set != NULL;
  }
  return done;
}

enum { BUFFER = 128 << 20, STACK = 8 << 20, CPU_BESIDE = 32 << 20, MOST_BUFFERS = 64 };

/* Bytes of a thread's stack. */
static int64_t stack_bytes(void) {
  struct rlimit limit;
  const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? (int64_t)limit.rlim_cur : STACK;
}

/* Each thread that multiplies reserves a buffer, and retries for ever if a limit prevents that. So
 * the buffers are reserved here, where a failure is an error: OpenBLAS keeps them. */
dm_status dm_cpu_room(int threads) {
  void *(*alloc)(int), (*release)(void *);
  void *buffers[MOST_BUFFERS];
  char need[48];
  *(void **)&alloc = symbol("blas_memory_alloc");
  *(void **)&release = symbol("blas_memory_free");
  if (!alloc || !release) return DM_OK;
  if (threads > MOST_BUFFERS) threads = MOST_BUFFERS;
  const int64_t bytes = threads * (BUFFER + stack_bytes()) + CPU_BESIDE;
  snprintf(need, sizeof need, "OpenBLAS with %d threads", threads);
  DM_TRY(dm_memory_room(bytes, need));
  for (int i = 0; i < threads; i++) buffers[i] = alloc(0);
  for (int i = 0; i < threads; i++) release(buffers[i]);
  return DM_OK;
}

void dm_cpu_library(char *text, int64_t size) {
  char *(*config)(void);
  *(void **)&config = symbol("openblas_get_config");
  if (config) {
    snprintf(text, (size_t)size, "%s", config());
    return;
  }
  const char *name = symbol("MKL_Get_Max_Threads")          ? "MKL"
                     : symbol("bli_thread_get_num_threads") ? "BLIS"
                     : symbol("nvpl_blas_get_max_threads")  ? "NVPL BLAS"
                                                            : "CBLAS";
  snprintf(text, (size_t)size, "%s", name);
}

/* OpenBLAS selects its kernels by the CPU's model number. For an unknown one it silently uses the
 * oldest, which are several times slower. */
static const char *chosen_kernels(void) {
  char *(*corename)(void);
  *(void **)&corename = symbol("openblas_get_corename");
  return corename ? corename() : "";
}

static bool are_outdated(const char *kernels) {
  static const char *const old[] = {"Prescott", "Core2", "Nehalem", "Barcelona", "Penryn"};
  bool outdated = false;
  for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) outdated |= strcmp(kernels, old[i]) == 0;
  return outdated;
}

/* The value for OPENBLAS_CORETYPE if it is unset and the kernels are outdated; else NULL. */
static const char *newer_kernels(void) {
#if defined(__x86_64__)
  if (getenv("OPENBLAS_CORETYPE") || !are_outdated(chosen_kernels())) return NULL;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SKYLAKEX";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "HASWELL" : NULL;
#else
  return NULL;
#endif
}

/* OpenBLAS reads the variable on loading. It has no call to read it again, except these two, its
 * initialization and shutdown. */
void dm_cpu_name_kernels(bool keep) {
  static const char variable[] = "OPENBLAS_CORETYPE";
  void (*begin)(void), (*end)(void);
  const char *newer = newer_kernels();
  *(void **)&begin = symbol("gotoblas_dynamic_init");
  *(void **)&end = symbol("gotoblas_dynamic_quit");
  if (!newer || !begin || !end || setenv(variable, newer, 1) != 0) return;
  end();
  begin();
  /* If it failed, the warning needs it unset. */
  if (!keep || are_outdated(chosen_kernels())) unsetenv(variable);
}

void dm_cpu_kernel_warning(char *text, int64_t size) {
  const char *newer = newer_kernels();
  text[0] = '\0';
  if (newer)
    snprintf(
        text, (size_t)size,
        "OpenBLAS does not know this CPU and uses its %s kernels; %sOPENBLAS_CORETYPE=%s before "
        "the start, or a newer OpenBLAS, multiplies several times faster",
        chosen_kernels(), symbol("gotoblas_dynamic_init") ? "damier_choose_kernels, " : "", newer);
}
