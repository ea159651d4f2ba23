/* Kernels are checked before they are timed: integers must be exact, random numbers within a bound
 * for each element, and nothing may change after the rows of a result. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_kernels.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"

enum { SAMPLE = 1 << 20, MOST_SAMPLED = 65535 }; /* elements checked; rows of a reference */

/* The rounding error of a chain of k additions is at most (k + 1) u |A||B|. For random numbers it
 * is a random walk, and exceeds 6 sqrt(k + 1) u |A||B| with a probability below 1e-7 for each
 * element (Higham, Mary, SIAM J. Sci. Comput. 41, 2019). Tensor cores cut off low bits, up to twice
 * a rounding; the order of a library's sums is unknown. Operands may be shortened first. */
double dm_kernel_bound(const dm_kernel *kernel, dm_operand type, int64_t depth) {
  const double k = (double)depth + 1.0, walk = fmin(k, 6.0 * sqrt(k));
  if (kernel->op == DM_TRANSPOSE || kernel->op == DM_ADD) return 0.0;
  const dm_dtype dtype = dm_operand_dtype(type);
  const dm_compute *row = dm_compute_by(type);
  if (dm_dtype_is_integer(dtype)) return 0.0;
  if (kernel->op == DM_DOT) return walk;
  const double terms = dm_dtype_is_complex(dtype) ? sqrt(2.0) : 1.0; /* 2 k products */
  const double cut = 2.0 * row->shortening / row->roundoff;
  switch (dm_kernel_sums_of(kernel, dtype)) {
  case DM_SUM_CHAIN:
    return cut + terms * walk;
  case DM_SUM_COMPENSATED:
    return cut + 3.0;
  case DM_SUM_GROUPED:
  case DM_SUM_ANY:
    break;
  }
  return cut + 2.0 * terms * walk;
}

double dm_largest(const double *values, int64_t count) {
  double largest = 0.0;
  for (int64_t i = 0; i < count; i++)
    if (isnan(values[i]))
      return NAN;
    else if (values[i] > largest)
      largest = values[i];
  return largest;
}

/* The largest error of the elements that the harness expects and, unless NULL, the median, in u
 * |A||B|; integers have no u, so it counts as 1. */
static dm_status judge(dm_harness *harness, dm_view out, double *most, double *median) {
  const int64_t count = dm_harness_judged(harness);
  const double u = dm_dtype_roundoff(out.dtype), unit = u > 0.0 ? u : 1.0;
  void *errors;
  DM_TRY(dm_buffer_alloc(count * 8, &errors));
  dm_status status = dm_harness_judge(harness, out, errors);
  if (!status) *most = dm_largest(errors, count) / unit;
  if (!status && median) *median = dm_statistics_of(errors, count).median / unit;
  free(errors);
  return status;
}

static int64_t depth_of(const dm_harness_work *w) {
  return w->op == DM_GEMM ? w->x.cols : w->x.rows * w->x.cols;
}

/* ---- at the timed size ---- */

/* Selects COUNT of ROWS, one from each of COUNT equal runs. */
static void sample(int64_t rows, int64_t count, uint64_t seed, int64_t *chosen) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t begin = rows * i / count, end = rows * (i + 1) / count;
    chosen[i] = begin + (int64_t)(dm_mix(seed + (uint64_t)i) % (uint64_t)(end - begin));
  }
}

dm_status dm_expect_size(const dm_workload *workload, dm_size_check *check) {
  const dm_view out = workload->works[0].out;
  void *rows;
  check->of_rows = out.rows;
  check->rows = dm_min(dm_min(out.rows, MOST_SAMPLED), dm_max(16, SAMPLE / out.cols));
  DM_TRY(dm_buffer_alloc(check->rows * 8, &rows));
  sample(out.rows, check->rows, workload->seed, rows);
  dm_status status = dm_workload_reset(workload);
  if (!status)
    status = dm_harness_expect(workload->harness, &workload->works[0], rows, check->rows);
  free(rows);
  return status;
}

dm_status dm_check_size(const dm_workload *workload, const dm_kernel *kernel,
                        dm_size_check *check) {
  dm_harness_work work = workload->works[0];
  work.kernel = kernel;
  DM_TRY(dm_workload_reset(workload));
  DM_TRY(dm_harness_run(workload->harness, &work));
  DM_TRY(judge(workload->harness, work.out, &check->most, &check->median));
  check->bound = dm_kernel_bound(kernel, workload->type, depth_of(&work));
  check->pass = check->most <= check->bound;
  check->done = true;
  return DM_OK;
}

/* ---- difficult shapes ---- */

/* Single elements, primes, a tile's size minus and plus one, k = 1, unaligned rows, results whose
 * old values must not be read. */
static const int64_t shapes[][3] = {
    {1, 1, 1},      {1, 7, 31},      {31, 1, 2},      {127, 129, 1}, {129, 127, 17},
    {65, 63, 8},    {257, 131, 37},  {255, 257, 9},   {3, 523, 100}, {128, 256, 64},
    {17, 13, 4099}, {384, 264, 200}, {520, 136, 129},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], LAYOUTS = 3, MOST_ROWS = 4099 };

static const dm_rows layouts[LAYOUTS] = {{0, 1}, {3, 1}, {0, 16}};
static const char *const layout_names[LAYOUTS] = {"packed", "unaligned", "aligned"};

static const double border = -77.0; /* fills the space after the rows of a result */

typedef struct trial {
  dm_backend *backend;
  dm_harness *harness;
  const dm_kernel *kernel;
  dm_operand type;
  uint64_t seed;
  const int64_t *shape;
  int layout;
  bool other, whole; /* other: C += A B; for helpers, other dimensions of the shape */
  void *memory;
} trial;

/* Bytes of three matrices of the largest shapes and the widest type. */
static int64_t room(void) {
  int64_t most = 0;
  for (int i = 0; i < SHAPES; i++) {
    const int64_t m = shapes[i][0] + 16, n = shapes[i][1] + 16, k = shapes[i][2] + 16;
    most = dm_max(most, m * k + k * n + m * n);
    most = dm_max(most, 3 * dm_max(m * n, n * k));
  }
  return most * 16 + 4096;
}

static dm_harness_work lay_out(const trial *t) {
  const int64_t m = t->shape[0], n = t->shape[1], k = t->shape[2];
  const bool product = t->kernel->op == DM_GEMM;
  dm_harness_work w = {.op = t->kernel->op,
                       .kernel = t->kernel,
                       .operand = t->type,
                       .accumulate = product && t->other,
                       .alpha = t->whole ? 1.0 : 3.0,
                       .beta = t->whole ? 1.0 : -2.0};
  dm_harness_lay_out(t->other && !product ? (dm_kernel_size){n, k, 1} : (dm_kernel_size){m, n, k},
                     layouts[t->layout], t->memory, &w);
  return w;
}

static dm_status fill_constant(const trial *t, dm_view view, double value) {
  const dm_generator constant = {.kind = DM_CONSTANT, .parameter = value};
  return dm_backend_fill(t->backend, view, &constant, 0, 0);
}

static dm_status fill(const trial *t, const dm_harness_work *w) {
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

/* Whether the space after the rows of OUT was written. */
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

static dm_status try_one(const trial *t, const int64_t *rows, dm_edge_check *check) {
  dm_harness_work w = lay_out(t);
  double most;
  bool changed;
  DM_TRY(fill(t, &w));
  DM_TRY(dm_harness_expect(t->harness, &w, rows, w.out.rows));
  if (w.op == DM_ADD && t->whole && t->layout == 0) w.out = w.x; /* in place */
  DM_TRY(dm_harness_run(t->harness, &w));
  DM_TRY(judge(t->harness, w.out, &most, NULL));
  DM_TRY(border_changed(t, w.out, &changed));
  const double bound = t->whole ? 0.0 : dm_kernel_bound(t->kernel, t->type, depth_of(&w));
  check->trials++;
  if (most <= bound && !changed) return DM_OK;
  if (check->failed++ == 0)
    snprintf(check->first, sizeof check->first,
             "%lld x %lld x %lld, rows %s%s%s: %s%.3g u|A||B|, bound %.3g", (long long)t->shape[0],
             (long long)t->shape[1], (long long)t->shape[2], layout_names[t->layout],
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

dm_status dm_check_edges(dm_backend *backend, dm_harness *harness, const dm_kernel *kernel,
                         dm_operand type, uint64_t seed, dm_edge_check *check) {
  trial t = {.backend = backend, .harness = harness, .kernel = kernel, .type = type, .seed = seed};
  *check = (dm_edge_check){0};
  DM_TRY(dm_backend_alloc(backend, DM_DEVICE, room(), &t.memory));
  dm_status status =
      dm_context(try_all(&t, check), "kernel %s, %s", kernel->name, dm_operand_name(type));
  dm_backend_release(backend, DM_DEVICE, t.memory);
  return status;
}
