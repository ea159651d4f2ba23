/* The matrices for checking and timing kernels. */
#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "bench/bench_kernels.h"
#include "core/buffer.h"
#include "core/checked.h"

enum { MOST_SETS = 1024, PLACE = 256 }; /* PLACE: alignment of matrices in bytes */

static dm_dtype result_type(dm_kernel_op op, dm_dtype dtype) {
  if (op == DM_GEMM) return dm_compute_sum(dtype);
  return op == DM_DOT ? DM_F64 : dtype;
}

typedef struct bench_kernels_shape {
  int64_t rows, cols;
  dm_dtype dtype;
} bench_kernels_shape;

enum { OUT, X, Y, Y_ALONG_K, MATRICES };

/* Unused ones are empty. */
static void shapes_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool along_k,
                      bench_kernels_shape shapes[MATRICES]) {
  const int64_t m = size.m, n = size.n, k = size.k;
  const dm_dtype in = dm_operand_dtype(type), out = result_type(op, in);
  const bench_kernels_shape none = {0, 0, in};
  shapes[OUT] = op == DM_TRANSPOSE ? (bench_kernels_shape){n, m, out}
                : op == DM_DOT     ? (bench_kernels_shape){1, 1, out}
                                   : (bench_kernels_shape){m, n, out};
  shapes[X] = op == DM_GEMM ? (bench_kernels_shape){m, k, in} : (bench_kernels_shape){m, n, in};
  shapes[Y] = op == DM_GEMM        ? (bench_kernels_shape){k, n, in}
              : op == DM_TRANSPOSE ? none
                                   : (bench_kernels_shape){m, n, in};
  shapes[Y_ALONG_K] = along_k && op == DM_GEMM ? (bench_kernels_shape){n, k, in} : none;
}

static dm_view bench_kernels_view_of(char **at, bench_kernels_shape s, dm_rows rows) {
  const int64_t stride = dm_round_up(s.cols + rows.pad, rows.multiple);
  const dm_view view = dm_view_strided(*at, s.dtype, DM_DEVICE, s.rows, s.cols, stride);
  *at += dm_round_up(s.rows * stride * dm_dtype_size(s.dtype), PLACE);
  return view;
}

static void bench_kernels_lay_out(const bench_kernels_shape shapes[MATRICES], dm_rows rows,
                                  char **at, dm_harness_work *w) {
  w->out = bench_kernels_view_of(at, shapes[OUT], rows);
  w->x = bench_kernels_view_of(at, shapes[X], rows);
  w->y = bench_kernels_view_of(at, shapes[Y], rows);
  w->y_along_k = bench_kernels_view_of(at, shapes[Y_ALONG_K], rows);
  if (shapes[Y_ALONG_K].rows == 0) w->y_along_k.base = NULL;
}

void dm_harness_lay_out(dm_kernel_size size, dm_rows rows, void *memory, dm_harness_work *w) {
  bench_kernels_shape shapes[MATRICES];
  char *at = memory;
  shapes_of(w->op, w->operand, size, false, shapes);
  bench_kernels_lay_out(shapes, rows, &at, w);
}

/* Bytes of all SHAPES; DM_E_FIT if 64 bits overflow. */
static dm_status bench_kernels_add_up(const bench_kernels_shape shapes[MATRICES], int64_t pad,
                                      int64_t *bytes) {
  *bytes = 0;
  for (int i = 0; i < MATRICES; i++) {
    int64_t one;
    /* Four such eighths of the largest 64-bit count, rounded up, do not overflow. */
    const int64_t size = dm_dtype_size(shapes[i].dtype);
    DM_TRY(dm_bytes_of(shapes[i].rows, shapes[i].cols + pad, 8 * size, &one));
    *bytes += dm_round_up(one / 8, PLACE);
  }
  return DM_OK;
}

/* Fills VIEW with random numbers over the type's range; for i8, integers. */
static dm_status bench_kernels_fill(const dm_workload *b, dm_view view, uint64_t seed) {
  const bool whole = dm_dtype_is_integer(view.dtype);
  const dm_generator random = {
      .kind = whole ? DM_INTEGER : DM_UNIFORM, .seed = seed, .parameter = whole ? 127 : 0};
  return dm_backend_fill(b->backend, view, &random, 0, 0);
}

static int64_t sets_for(const dm_workload *b, const dm_harness_limits *limits, int64_t bytes) {
  dm_device device;
  const int64_t wanted = dm_ceil_div(2 * limits->l2, bytes) + 1;
  if (dm_backend_device(b->backend, &device)) return 1;
  return dm_max(1, dm_min(dm_min(wanted, MOST_SETS), device.memory_free / 2 / bytes));
}

dm_status dm_workload_reset(const dm_workload *b) {
  const dm_view out = b->works[0].out;
  const dm_generator poison = {.kind = DM_CONSTANT,
                               .parameter = dm_dtype_is_integer(out.dtype) ? -77.0 : (double)NAN};
  if (b->works[0].accumulate) return bench_kernels_fill(b, out, b->seed + 2);
  return dm_backend_fill(b->backend, out, &poison, 0, 0);
}

dm_status dm_workload_open(const dm_bench_kernels *wanted, const dm_harness_limits *limits,
                           int64_t sets, dm_workload *b) {
  bench_kernels_shape shapes[MATRICES];
  void *works;
  int64_t each;
  shapes_of(b->op, b->type, b->size, wanted->along_k, shapes);
  DM_TRY(bench_kernels_add_up(shapes, b->pad, &each));
  b->sets = sets > 0 ? sets : sets_for(b, limits, each);
  DM_TRY(dm_buffer_zeroed(b->sets, sizeof *b->works, &works));
  b->works = works;
  DM_TRY(dm_backend_alloc(b->backend, DM_DEVICE, b->sets * each, &b->memory));
  char *at = b->memory;
  for (int64_t i = 0; i < b->sets; i++) {
    dm_harness_work *w = &b->works[i];
    *w = (dm_harness_work){.op = b->op,
                           .operand = b->type,
                           .accumulate = wanted->accumulate && b->op == DM_GEMM,
                           .alpha = 2.0,
                           .beta = -1.0};
    bench_kernels_lay_out(shapes, (dm_rows){b->pad, 1}, &at, w);
    const uint64_t seed = b->seed + 3 * (uint64_t)i;
    DM_TRY(bench_kernels_fill(b, w->x, seed));
    DM_TRY(bench_kernels_fill(b, w->y, seed + 1));
    DM_TRY(bench_kernels_fill(b, w->out, seed + 2));
    if (w->y_along_k.base) DM_TRY(bench_kernels_fill(b, dm_view_transpose(w->y_along_k), seed + 1));
  }
  return DM_OK;
}

void dm_workload_close(dm_workload *b) {
  dm_backend_release(b->backend, DM_DEVICE, b->memory);
  free(b->works);
  b->memory = NULL;
  b->works = NULL;
}
