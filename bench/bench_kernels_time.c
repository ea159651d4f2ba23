/* Timing: a kernel and its baseline alternate, A B A B, on the same matrices, so that both see the
 * same clock. If calls are short relative to a launch, many of them form a CUDA graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_kernels.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "plan/machine.h"

enum { LEAST_PAIRS = 3, MOST_LAUNCHES = 2000 };

static const double short_call = 200e-6;        /* seconds; a launch takes some 3e-6 */
static const double bench_kernels_batch = 3e-3; /* least seconds of a measurement */
static const double bench_kernels_steady =
    0.01; /* relative change of a kernel's time that counts as none */

typedef struct bench_kernels_pair {
  const dm_workload *workload;
  dm_harness_work *works; /* the workload's works, with the kernel */
  dm_harness_series kernel, yardstick;
} bench_kernels_pair;

/* Seconds per call; unless NULL, *sensors is read while the GPU works. */
static dm_status bench_kernels_run(const bench_kernels_pair *p, dm_harness_series *series,
                                   dm_harness_sensors *sensors, double *seconds) {
  DM_TRY(dm_harness_start(p->workload->harness, series));
  if (sensors) dm_harness_sense(p->workload->harness, sensors);
  DM_TRY(dm_harness_finish(p->workload->harness, seconds));
  *seconds /= (double)series->launches;
  return DM_OK;
}

/* Chooses the calls per measurement from single ones; the first loads the kernel. */
static dm_status estimate(const bench_kernels_pair *p, dm_harness_series *series) {
  double seconds;
  series->launches = 1;
  DM_TRY(bench_kernels_run(p, series, NULL, &seconds));
  if (seconds < 10.0 * bench_kernels_batch) DM_TRY(bench_kernels_run(p, series, NULL, &seconds));
  const int64_t wanted = (int64_t)ceil(bench_kernels_batch / fmax(seconds, 1e-6));
  series->graph = seconds < short_call;
  /* Each measurement uses all sets: a few would stay in the cache. */
  if (wanted > 1) series->launches = dm_min(dm_max(wanted, series->sets), MOST_LAUNCHES);
  return DM_OK;
}

/* Both run before the first is recorded: a graph keeps the address of scratch memory, which a first
 * run may still reallocate. */
static dm_status bench_kernels_plan(bench_kernels_pair *p) {
  DM_TRY(estimate(p, &p->kernel));
  DM_TRY(estimate(p, &p->yardstick));
  DM_TRY(dm_harness_prepare(p->workload->harness, &p->kernel));
  return dm_harness_prepare(p->workload->harness, &p->yardstick);
}

/* Seconds per call, averaged over a stretch of the warm-up. */
static dm_status stretch(bench_kernels_pair *p, double least, double *seconds) {
  const double start = dm_now();
  double sum = 0.0, one, ignored;
  int count = 0;
  do {
    DM_TRY(bench_kernels_run(p, &p->kernel, NULL, &one));
    DM_TRY(bench_kernels_run(p, &p->yardstick, NULL, &ignored));
    sum += one;
    count++;
  } while (dm_now() - start < least);
  *seconds = sum / count;
  return DM_OK;
}

/* Runs until the kernel's time, and so clock and power, are steady: compares stretches of a quarter
 * of MOST seconds. */
static dm_status warm_up(bench_kernels_pair *p, double most, dm_timing *timing) {
  const double start = dm_now();
  double before = 0.0, now;
  timing->settled = false;
  do {
    DM_TRY(stretch(p, 0.25 * most, &now));
    timing->settled = fabs(now - before) <= bench_kernels_steady * before;
    timing->warmup = dm_now() - start;
    before = now;
  } while (!timing->settled && timing->warmup < most);
  return DM_OK;
}

static dm_status bench_kernels_measure(bench_kernels_pair *p, const dm_bench_kernels *wanted,
                                       dm_timing *timing, double *sensed) {
  const int most = wanted->repetitions;
  const double start = dm_now();
  for (int i = 0; i < most; i++) {
    dm_harness_sensors now;
    DM_TRY(bench_kernels_run(p, &p->kernel, &now, &timing->kernel_s[i]));
    DM_TRY(bench_kernels_run(p, &p->yardstick, NULL, &timing->yardstick_s[i]));
    sensed[i] = now.clock;
    sensed[most + i] = now.power;
    sensed[2 * most + i] = now.temperature;
    timing->pairs = i + 1;
    if (timing->pairs >= LEAST_PAIRS && dm_now() - start > wanted->limit) break;
  }
  return DM_OK;
}

/* Helpers are compared by the bytes they move. */
static double bench_kernels_weight(dm_kernel_op op) {
  return op == DM_ADD ? 1.5 : 1.0; /* moves three matrices; a copy moves two */
}

static dm_status summarise(const bench_kernels_pair *p, int most, dm_timing *timing,
                           double *sensed) {
  const int count = timing->pairs;
  void *memory;
  DM_TRY(dm_buffer_alloc(3 * count * (int64_t)sizeof(double), &memory));
  double *kernel = memory, *yardstick = kernel + count, *share = yardstick + count;
  for (int i = 0; i < count; i++) {
    kernel[i] = timing->kernel_s[i];
    yardstick[i] = timing->yardstick_s[i];
    share[i] = bench_kernels_weight(p->workload->op) * yardstick[i] / kernel[i];
  }
  timing->kernel = dm_statistics_of(kernel, count);
  timing->yardstick = dm_statistics_of(yardstick, count);
  timing->share = dm_statistics_of(share, count);
  timing->sensors =
      (dm_harness_sensors){.clock = dm_statistics_of(sensed, count).median,
                           .power = dm_statistics_of(sensed + most, count).median,
                           .temperature = dm_statistics_of(sensed + 2 * most, count).median};
  free(memory);
  return DM_OK;
}

static dm_status time_pair(bench_kernels_pair *p, const dm_bench_kernels *wanted,
                           dm_timing *timing) {
  void *sensed;
  DM_TRY(bench_kernels_plan(p));
  DM_TRY(warm_up(p, wanted->settle, timing));
  DM_TRY(dm_buffer_zeroed(3 * (int64_t)wanted->repetitions, sizeof(double), &sensed));
  dm_status status = bench_kernels_measure(p, wanted, timing, sensed);
  if (!status) status = summarise(p, wanted->repetitions, timing, sensed);
  free(sensed);
  DM_TRY(status);
  timing->launches = p->kernel.launches;
  timing->yardstick_launches = p->yardstick.launches;
  timing->sets = p->workload->sets;
  timing->graph = p->kernel.graph;
  timing->done = true;
  return DM_OK;
}

dm_status dm_time_kernel(const dm_workload *workload, const dm_bench_kernels *wanted,
                         const dm_kernel *kernel, dm_timing *timing) {
  void *works;
  DM_TRY(dm_buffer_zeroed(workload->sets, sizeof(dm_harness_work), &works));
  bench_kernels_pair p = {.workload = workload, .works = works};
  for (int64_t i = 0; i < workload->sets; i++) {
    p.works[i] = workload->works[i];
    p.works[i].kernel = kernel;
  }
  p.kernel = (dm_harness_series){.works = p.works, .sets = workload->sets};
  p.yardstick = (dm_harness_series){.works = workload->works, .sets = workload->sets};
  dm_status status = time_pair(&p, wanted, timing);
  dm_harness_forget(workload->harness, &p.kernel);
  dm_harness_forget(workload->harness, &p.yardstick);
  free(works);
  return status;
}

/* ---- the roof ---- */

/* Operations (a multiply-add is two) that a multiprocessor issues per cycle; dense, sums in f32,
 * i32 or the type itself. From the whitepapers of the A100 (GA100) and the H100 (GH100). */
typedef struct pace {
  int capability;
  dm_operand_rates flops;
} pace;

static const pace paces[] = {
    {80, {128, 128, 1024, 2048, 4096}},
    {90, {256, 256, 2048, 4096, 8192}},
};

double dm_roof_peak(const dm_harness_limits *limits, dm_operand type) {
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++)
    if (paces[i].capability == limits->capability)
      return dm_operand_rate(&paces[i].flops, type) * limits->processors * limits->clock;
  return 0.0;
}

dm_load dm_load_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool accumulate) {
  const double m = (double)size.m, n = (double)size.n, k = (double)size.k;
  const dm_dtype dtype = dm_operand_dtype(type);
  const double in = (double)dm_dtype_size(dtype);
  const double out = (double)dm_dtype_size(dm_compute_sum(dtype));
  switch (op) {
  case DM_GEMM:
    return (dm_load){(dm_dtype_is_complex(dtype) ? 8.0 : 2.0) * m * n * k,
                     (m * k + k * n) * in + (accumulate ? 2.0 : 1.0) * m * n * out};
  case DM_TRANSPOSE:
    return (dm_load){0.0, 2.0 * m * n * in};
  case DM_ADD:
    return (dm_load){3.0 * m * n, 3.0 * m * n * in};
  case DM_DOT:
    return (dm_load){2.0 * m * n, 2.0 * m * n * in};
  case DM_KERNEL_OPS:
    break;
  }
  return (dm_load){0};
}

double dm_roof_bound(const dm_roof *roof, dm_kernel_op op, dm_operand type, dm_load load,
                     const char **by) {
  const double peak = dm_roof_peak(&roof->limits, type);
  const double moving = load.bytes / (op == DM_DOT ? roof->read : roof->copy);
  /* Helpers have next to no arithmetic. */
  const double computing = op == DM_GEMM ? load.flops / peak : 0.0;
  *by = computing > moving ? "compute" : "memory";
  return op == DM_GEMM && peak == 0.0 ? (double)NAN : fmax(computing, moving);
}

/* Bytes per second of OP's baseline, the median of a few runs. */
static dm_status measure_rate(const dm_workload *workload, double *rate) {
  enum { BENCH_KERNELS_RUNS = 9, CALLS = 10 }; /* enough to make a launch negligible */
  const bench_kernels_pair p = {.workload = workload};
  dm_harness_series series = {.works = workload->works, .sets = workload->sets, .launches = CALLS};
  double seconds[BENCH_KERNELS_RUNS];
  for (int i = -2; i < BENCH_KERNELS_RUNS; i++)
    DM_TRY(bench_kernels_run(&p, &series, NULL, &seconds[i < 0 ? 0 : i]));
  const dm_load load = dm_load_of(workload->op, workload->type, workload->size, false);
  *rate = load.bytes / dm_statistics_of(seconds, BENCH_KERNELS_RUNS).median;
  return DM_OK;
}

dm_status dm_measure_roof(dm_backend *backend, dm_harness *harness, dm_roof *roof) {
  const dm_kernel_op ops[] = {DM_TRANSPOSE, DM_DOT};
  double *const rates[] = {&roof->copy, &roof->read};
  const dm_bench_kernels plain = {0};
  DM_TRY(dm_harness_limits_of(backend, &roof->limits));
  for (int i = 0; i < 2; i++) {
    dm_workload workload = {.backend = backend,
                            .harness = harness,
                            .op = ops[i],
                            .type = DM_F32,
                            .size = {8192, 8192, 1},
                            .seed = 1};
    dm_status status = dm_workload_open(&plain, &roof->limits, 2, &workload);
    if (!status) status = measure_rate(&workload, rates[i]);
    dm_workload_close(&workload);
    DM_TRY(status);
  }
  return DM_OK;
}

/* ---- kernels are checked before they are timed: integers must be exact, random numbers within a
 * bound for each element, and nothing may change after the rows of a result ---- */

enum {
  BENCH_KERNELS_SAMPLE = 1 << 20,
  MOST_SAMPLED = 65535
}; /* elements checked; rows of a reference */

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
static dm_status bench_kernels_judge(dm_harness *harness, dm_view out, double *most,
                                     double *median) {
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

static int64_t bench_kernels_depth_of(const dm_harness_work *w) {
  return w->op == DM_GEMM ? w->x.cols : w->x.rows * w->x.cols;
}

/* ---- at the timed size ---- */

/* Selects COUNT of ROWS, one from each of COUNT equal runs. */
static void bench_kernels_sample(int64_t rows, int64_t count, uint64_t seed, int64_t *chosen) {
  for (int64_t i = 0; i < count; i++) {
    const int64_t begin = rows * i / count, end = rows * (i + 1) / count;
    chosen[i] = begin + (int64_t)(dm_mix(seed + (uint64_t)i) % (uint64_t)(end - begin));
  }
}

dm_status dm_expect_size(const dm_workload *workload, dm_size_check *check) {
  const dm_view out = workload->works[0].out;
  void *rows;
  check->of_rows = out.rows;
  check->rows = dm_min(dm_min(out.rows, MOST_SAMPLED), dm_max(16, BENCH_KERNELS_SAMPLE / out.cols));
  DM_TRY(dm_buffer_alloc(check->rows * 8, &rows));
  bench_kernels_sample(out.rows, check->rows, workload->seed, rows);
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
  DM_TRY(bench_kernels_judge(workload->harness, work.out, &check->most, &check->median));
  check->bound = dm_kernel_bound(kernel, workload->type, bench_kernels_depth_of(&work));
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

enum {
  BENCH_KERNELS_SHAPES = sizeof shapes / sizeof shapes[0],
  LAYOUTS = 3,
  BENCH_KERNELS_MOST_ROWS = 4099
};

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
static int64_t bench_kernels_room(void) {
  int64_t most = 0;
  for (int i = 0; i < BENCH_KERNELS_SHAPES; i++) {
    const int64_t m = shapes[i][0] + 16, n = shapes[i][1] + 16, k = shapes[i][2] + 16;
    most = dm_max(most, m * k + k * n + m * n);
    most = dm_max(most, 3 * dm_max(m * n, n * k));
  }
  return most * 16 + 4096;
}

static dm_harness_work bench_kernels_time_lay_out(const trial *t) {
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

static dm_status bench_kernels_time_fill(const trial *t, const dm_harness_work *w) {
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
  *changed = false;
  if (pad <= 0) return DM_OK;
  DM_TRY(dm_buffer_alloc(out.rows * pad * (dm_dtype_size(out.dtype) + 8 * parts), &memory));
  double *wide = memory;
  dm_view here = dm_view_row_major(wide + out.rows * pad * parts, out.dtype, out.rows, pad);
  dm_view there = out;
  there.base = (char *)out.base + out.cols * dm_dtype_size(out.dtype);
  there.cols = pad;
  dm_status status = dm_backend_copy_now(t->backend, here, there);
  if (!status) dm_load_wide(wide, here.base, out.dtype, 1, out.rows * pad);
  for (int64_t i = 0; !status && i < out.rows * pad; i++)
    if (wide[i * parts] != border || (parts == 2 && wide[i * parts + 1] != 0.0)) *changed = true;
  free(memory);
  return status;
}

static dm_status try_one(const trial *t, const int64_t *rows, dm_edge_check *check) {
  dm_harness_work w = bench_kernels_time_lay_out(t);
  double most;
  bool changed;
  DM_TRY(bench_kernels_time_fill(t, &w));
  DM_TRY(dm_harness_expect(t->harness, &w, rows, w.out.rows));
  if (w.op == DM_ADD && t->whole && t->layout == 0) w.out = w.x; /* in place */
  DM_TRY(dm_harness_run(t->harness, &w));
  DM_TRY(bench_kernels_judge(t->harness, w.out, &most, NULL));
  DM_TRY(border_changed(t, w.out, &changed));
  const double bound =
      t->whole ? 0.0 : dm_kernel_bound(t->kernel, t->type, bench_kernels_depth_of(&w));
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
  int64_t rows[BENCH_KERNELS_MOST_ROWS];
  for (int64_t i = 0; i < BENCH_KERNELS_MOST_ROWS; i++) rows[i] = i;
  for (int shape = 0; shape < BENCH_KERNELS_SHAPES; shape++)
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
  DM_TRY(dm_backend_alloc(backend, DM_DEVICE, bench_kernels_room(), &t.memory));
  dm_status status =
      dm_context(try_all(&t, check), "kernel %s, %s", kernel->name, dm_operand_name(type));
  dm_backend_release(backend, DM_DEVICE, t.memory);
  return status;
}
