/* Timing: a kernel and its baseline alternate, A B A B, on the same matrices, so that both see the
 * same clock. If calls are short relative to a launch, many of them form a CUDA graph. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_kernels.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "plan/machine.h"

enum { LEAST_PAIRS = 3, MOST_LAUNCHES = 2000 };

static const double short_call = 200e-6; /* seconds; a launch takes some 3e-6 */
static const double batch = 3e-3;        /* least seconds of a measurement */
static const double steady = 0.01; /* relative change of a kernel's time that counts as none */

typedef struct pair {
  const dm_workload *workload;
  dm_harness_work *works; /* the workload's works, with the kernel */
  dm_harness_series kernel, yardstick;
} pair;

/* Seconds per call; unless NULL, *sensors is read while the GPU works. */
static dm_status run(const pair *p, dm_harness_series *series, dm_harness_sensors *sensors,
                     double *seconds) {
  DM_TRY(dm_harness_start(p->workload->harness, series));
  if (sensors) dm_harness_sense(p->workload->harness, sensors);
  DM_TRY(dm_harness_finish(p->workload->harness, seconds));
  *seconds /= (double)series->launches;
  return DM_OK;
}

/* Chooses the calls per measurement from single ones; the first loads the kernel. */
static dm_status estimate(const pair *p, dm_harness_series *series) {
  double seconds;
  series->launches = 1;
  DM_TRY(run(p, series, NULL, &seconds));
  if (seconds < 10.0 * batch) DM_TRY(run(p, series, NULL, &seconds));
  const int64_t wanted = (int64_t)ceil(batch / fmax(seconds, 1e-6));
  series->graph = seconds < short_call;
  /* Each measurement uses all sets: a few would stay in the cache. */
  if (wanted > 1) series->launches = dm_min(dm_max(wanted, series->sets), MOST_LAUNCHES);
  return DM_OK;
}

/* Both run before the first is recorded: a graph keeps the address of scratch memory, which a first
 * run may still reallocate. */
static dm_status plan(pair *p) {
  DM_TRY(estimate(p, &p->kernel));
  DM_TRY(estimate(p, &p->yardstick));
  DM_TRY(dm_harness_prepare(p->workload->harness, &p->kernel));
  return dm_harness_prepare(p->workload->harness, &p->yardstick);
}

/* Seconds per call, averaged over a stretch of the warm-up. */
static dm_status stretch(pair *p, double least, double *seconds) {
  const double start = dm_now();
  double sum = 0.0, one, ignored;
  int count = 0;
  do {
    DM_TRY(run(p, &p->kernel, NULL, &one));
    DM_TRY(run(p, &p->yardstick, NULL, &ignored));
    sum += one;
    count++;
  } while (dm_now() - start < least);
  *seconds = sum / count;
  return DM_OK;
}

/* Runs until the kernel's time, and so clock and power, are steady: compares stretches of a quarter
 * of MOST seconds. */
static dm_status warm_up(pair *p, double most, dm_timing *timing) {
  const double start = dm_now();
  double before = 0.0, now;
  timing->settled = false;
  do {
    DM_TRY(stretch(p, 0.25 * most, &now));
    timing->settled = fabs(now - before) <= steady * before;
    timing->warmup = dm_now() - start;
    before = now;
  } while (!timing->settled && timing->warmup < most);
  return DM_OK;
}

static dm_status measure(pair *p, const dm_bench_kernels *wanted, dm_timing *timing,
                         double *sensed) {
  const int most = wanted->repetitions;
  const double start = dm_now();
  for (int i = 0; i < most; i++) {
    dm_harness_sensors now;
    DM_TRY(run(p, &p->kernel, &now, &timing->kernel_s[i]));
    DM_TRY(run(p, &p->yardstick, NULL, &timing->yardstick_s[i]));
    sensed[i] = now.clock;
    sensed[most + i] = now.power;
    sensed[2 * most + i] = now.temperature;
    timing->pairs = i + 1;
    if (timing->pairs >= LEAST_PAIRS && dm_now() - start > wanted->limit) break;
  }
  return DM_OK;
}

/* Helpers are compared by the bytes they move. */
static double weight(dm_kernel_op op) {
  return op == DM_ADD ? 1.5 : 1.0; /* moves three matrices; a copy moves two */
}

static dm_status summarise(const pair *p, int most, dm_timing *timing, double *sensed) {
  const int count = timing->pairs;
  void *memory;
  DM_TRY(dm_buffer_alloc(3 * count * (int64_t)sizeof(double), &memory));
  double *kernel = memory, *yardstick = kernel + count, *share = yardstick + count;
  for (int i = 0; i < count; i++) {
    kernel[i] = timing->kernel_s[i];
    yardstick[i] = timing->yardstick_s[i];
    share[i] = weight(p->workload->op) * yardstick[i] / kernel[i];
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

static dm_status time_pair(pair *p, const dm_bench_kernels *wanted, dm_timing *timing) {
  void *sensed;
  DM_TRY(plan(p));
  DM_TRY(warm_up(p, wanted->settle, timing));
  DM_TRY(dm_buffer_zeroed(3 * (int64_t)wanted->repetitions, sizeof(double), &sensed));
  dm_status status = measure(p, wanted, timing, sensed);
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
  pair p = {.workload = workload, .works = works};
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
  enum { RUNS = 9, CALLS = 10 }; /* enough to make a launch negligible */
  const pair p = {.workload = workload};
  dm_harness_series series = {.works = workload->works, .sets = workload->sets, .launches = CALLS};
  double seconds[RUNS];
  for (int i = -2; i < RUNS; i++) DM_TRY(run(&p, &series, NULL, &seconds[i < 0 ? 0 : i]));
  const dm_load load = dm_load_of(workload->op, workload->type, workload->size, false);
  *rate = load.bytes / dm_statistics_of(seconds, RUNS).median;
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
