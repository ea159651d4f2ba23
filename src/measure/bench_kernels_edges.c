/* The shapes that break kernels: single elements, primes, one less and one more than a tile, k = 1,
 * rows that are not aligned, results that begin with what must not be read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "measure/bench_kernels_impl.h"

static const int64_t shapes[][3] = {
    {1, 1, 1},      {1, 7, 31},      {31, 1, 2},      {127, 129, 1}, {129, 127, 17},
    {65, 63, 8},    {257, 131, 37},  {255, 257, 9},   {3, 523, 100}, {128, 256, 64},
    {17, 13, 4099}, {384, 264, 200}, {520, 136, 129},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], LAYOUTS = 3, MOST_ROWS = 4099 };

static const double border = -77.0; /* behind the rows of a result */

typedef struct trial {
  dm_backend *backend;
  dm_lab *lab;
  const dm_kernel *kernel;
  dm_operand type;
  uint64_t seed;
  const int64_t *shape;
  int layout;
  bool other, whole; /* other: C += A B; of helpers, other two of the three numbers */
  void *memory;
} trial;

/* Rows of COLS elements lie so far apart: packed; unaligned; or aligned though COLS is not. */
static int64_t stride_of(int layout, int64_t cols) {
  if (layout == 0) return cols;
  return layout == 1 ? cols + 3 : dm_round_up(cols, 16);
}

static dm_view matrix(char **at, dm_dtype dtype, int64_t rows, int64_t cols, int layout) {
  const int64_t stride = stride_of(layout, cols);
  dm_view view = dm_view_strided(*at, dtype, DM_DEVICE, rows, cols, stride);
  *at += dm_round_up(rows * stride * dm_dtype_size(dtype), 256);
  return view;
}

/* Three matrices of the largest shapes and the widest type. */
static int64_t room(void) {
  int64_t most = 0;
  for (int i = 0; i < SHAPES; i++) {
    const int64_t m = shapes[i][0] + 16, n = shapes[i][1] + 16, k = shapes[i][2] + 16;
    most = dm_max(most, m * k + k * n + m * n);
    most = dm_max(most, 3 * dm_max(m * n, n * k));
  }
  return most * 16 + 4096;
}

static dm_lab_work lay_out(const trial *t) {
  const dm_dtype in = dm_operand_dtype(t->type);
  const int64_t m = t->shape[0], n = t->shape[1], k = t->shape[2];
  dm_lab_work w = {.op = t->kernel->op, .kernel = t->kernel, .operand = t->type};
  char *at = t->memory;
  if (w.op == DM_GEMM) {
    w.out = matrix(&at, dm_compute_sum(in), m, n, t->layout);
    w.x = matrix(&at, in, m, k, t->layout);
    w.y = matrix(&at, in, k, n, t->layout);
    w.accumulate = t->other;
    return w;
  }
  const int64_t rows = t->other ? n : m, cols = t->other ? k : n;
  w.x = matrix(&at, in, rows, cols, t->layout);
  w.y = matrix(&at, in, rows, cols, t->layout);
  w.out = w.op == DM_DOT         ? matrix(&at, DM_F64, 1, 1, 0)
          : w.op == DM_TRANSPOSE ? matrix(&at, in, cols, rows, t->layout)
                                 : matrix(&at, in, rows, cols, t->layout);
  w.alpha = t->whole ? 1.0 : 3.0;
  w.beta = t->whole ? 1.0 : -2.0;
  return w;
}

static dm_status fill_constant(const trial *t, dm_view view, double value) {
  const dm_generator constant = {.kind = DM_CONSTANT, .parameter = value};
  return dm_backend_fill(t->backend, view, &constant, 0, 0);
}

static dm_status fill(const trial *t, const dm_lab_work *w) {
  const bool whole = t->whole || dm_dtype_is_integer(dm_operand_dtype(t->type));
  dm_generator random = {.kind = whole ? DM_INTEGER : DM_UNIFORM,
                         .seed = t->seed,
                         .parameter = t->whole ? 3.0 : 127.0};
  DM_TRY(dm_backend_fill(t->backend, w->x, &random, 0, 0));
  random.seed++;
  DM_TRY(dm_backend_fill(t->backend, w->y, &random, 0, 0));
  dm_view all = w->out;
  all.cols = dm_max(all.cols, all.row_stride);
  DM_TRY(fill_constant(t, all, border));
  random.seed++;
  if (w->accumulate) return dm_backend_fill(t->backend, w->out, &random, 0, 0);
  return dm_dtype_is_integer(w->out.dtype) ? DM_OK : fill_constant(t, w->out, (double)NAN);
}

/* Whether something was written behind the rows of OUT. */
static dm_status border_changed(const trial *t, dm_view out, bool *changed) {
  const int64_t pad = out.row_stride - out.cols, parts = dm_dtype_is_complex(out.dtype) ? 2 : 1;
  void *memory;
  dm_event done;
  *changed = false;
  if (pad <= 0) return DM_OK;
  DM_TRY(dm_buffer_alloc(out.rows * pad * (dm_dtype_size(out.dtype) + 8 * parts), &memory));
  double *wide = memory;
  dm_view here = dm_view_row_major(wide + out.rows * pad * parts, out.dtype, out.rows, pad);
  dm_view there = out;
  there.base = (char *)out.base + out.cols * dm_dtype_size(out.dtype);
  there.cols = pad;
  dm_status status = dm_backend_copy(t->backend, here, there, &done);
  if (!status) status = dm_backend_wait(t->backend, done);
  if (!status) dm_load_wide(wide, here.base, out.dtype, 1, out.rows * pad);
  for (int64_t i = 0; !status && i < out.rows * pad; i++)
    if (wide[i * parts] != border || (parts == 2 && wide[i * parts + 1] != 0.0)) *changed = true;
  free(memory);
  return status;
}

static dm_status judge(const trial *t, dm_view out, double *most) {
  const int64_t count = dm_lab_judged(t->lab);
  const double u = dm_dtype_roundoff(out.dtype);
  void *errors;
  DM_TRY(dm_buffer_alloc(count * 8, &errors));
  dm_status status = dm_lab_judge(t->lab, out, errors);
  if (!status) *most = dm_largest(errors, count) / (u > 0.0 ? u : 1.0);
  free(errors);
  return status;
}

static dm_status try_one(const trial *t, const int64_t *rows, dm_edge_check *check) {
  dm_lab_work w = lay_out(t);
  double most;
  bool changed;
  DM_TRY(fill(t, &w));
  DM_TRY(dm_lab_expect(t->lab, &w, rows, w.out.rows));
  if (w.op == DM_ADD && t->whole && t->layout == 0) w.out = w.x; /* in place */
  DM_TRY(dm_lab_run(t->lab, &w));
  DM_TRY(judge(t, w.out, &most));
  DM_TRY(border_changed(t, w.out, &changed));
  const int64_t depth = w.op == DM_GEMM ? w.x.cols : w.x.rows * w.x.cols;
  const double bound = t->whole ? 0.0 : dm_kernel_bound(t->kernel, t->type, depth);
  check->trials++;
  if (most <= bound && !changed) return DM_OK;
  if (check->failed++ == 0)
    snprintf(check->first, sizeof check->first,
             "%lld x %lld x %lld, rows %s%s%s: %s%.3g u|A||B|, bound %.3g", (long long)t->shape[0],
             (long long)t->shape[1], (long long)t->shape[2],
             t->layout == 0   ? "packed"
             : t->layout == 1 ? "unaligned"
                              : "aligned",
             t->other ? (w.op == DM_GEMM ? ", C += A B" : ", other sides") : "",
             t->whole ? ", whole numbers" : "", changed ? "wrote behind the rows; " : "", most,
             bound);
  return DM_OK;
}

static dm_status try_all(trial *t, dm_edge_check *check) {
  int64_t rows[MOST_ROWS];
  for (int64_t i = 0; i < MOST_ROWS; i++) rows[i] = i;
  for (int shape = 0; shape < SHAPES; shape++)
    for (int rest = 0; rest < 4 * LAYOUTS; rest++) {
      t->shape = shapes[shape];
      t->layout = rest / 4;
      t->other = rest & 1;
      t->whole = rest & 2;
      DM_TRY(try_one(t, rows, check));
    }
  return DM_OK;
}

dm_status dm_check_edges(dm_backend *backend, dm_lab *lab, const dm_kernel *kernel, dm_operand type,
                         uint64_t seed, dm_edge_check *check) {
  trial t = {.backend = backend, .lab = lab, .kernel = kernel, .type = type, .seed = seed};
  *check = (dm_edge_check){0};
  DM_TRY(dm_backend_alloc(backend, DM_DEVICE, room(), &t.memory));
  dm_status status =
      dm_context(try_all(&t, check), "kernel %s, %s", kernel->name, dm_operand_name(type));
  dm_backend_release(backend, DM_DEVICE, t.memory);
  return status;
}
