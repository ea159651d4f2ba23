/* The planner's rates, measured by all ranks at once, which share memory, cores, links and
 * power. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/checked.h"
#include "core/clock.h"
#include "engine/equation.h"
#include "engine/setup.h"
#include "measure/rates_measure.h"
#include "plan/grid_cost.h"
#include "run/statistics.h"

enum {
  LEAST_RUNS = 5,
  MOST_RUNS = 1024,
  SELF_TESTS = 5,  /* per transport */
  SIZE_CPU = 1024, /* rows and columns of a block ... */
  SIZE_GPU = 8192,
  WIDTH_CPU = 512, /* ... and the panels' width */
  WIDTH_GPU = 8192,
  STREAM_HOST = 32 << 20, /* bytes per array; larger than most caches of a core */
  STREAM_DEVICE = 512 << 20,
};

static const double long_enough = 0.3; /* least seconds of runs */
static const double settled_gpu = 1.5; /* seconds of products: a GPU at its power limit slows down
                                          within a fraction of a second */

/* Up to three matrices, each in host or device memory. */
typedef struct bed {
  const dm_run *run;
  dm_backend *backend;
  dm_space space[3];
  dm_view view[3];
} bed;

static void close_bed(bed *b) {
  for (int i = 0; i < 3; i++)
    if (b->view[i].base) dm_backend_release(b->backend, b->space[i], b->view[i].base);
}

static dm_status take(bed *b, int i, dm_dtype type, int64_t rows, int64_t cols,
                      const dm_generator *generator) {
  void *memory;
  DM_TRY(dm_backend_alloc(b->backend, b->space[i], rows * cols * dm_dtype_size(type), &memory));
  b->view[i] = dm_view_strided(memory, type, b->space[i], rows, cols, cols);
  return generator ? dm_backend_fill(b->backend, b->view[i], generator, 0, 0) : DM_OK;
}

/* The PART quantile of ACTION's time on the slowest rank, over enough runs to take LEAST seconds.
 * The first run does not count. */
static dm_status time_part(bed *b, dm_status (*action)(bed *b), double least, double part,
                           double *seconds) {
  double times[MOST_RUNS], all = 0;
  int count = 0;
  DM_TRY(dm_comm_agree(b->run->world, action(b)));
  while (count < LEAST_RUNS || (count < MOST_RUNS && all < least)) {
    DM_TRY(dm_comm_barrier(b->run->world));
    const double start = dm_now();
    dm_status status = action(b);
    const double end = dm_now();
    DM_TRY(dm_comm_agree(b->run->world, status));
    DM_TRY(dm_run_span(b->run, start, end, &times[count]));
    all += times[count++];
    DM_TRY(dm_comm_agree(b->run->world, dm_run_beat((dm_run *)b->run)));
  }
  (void)dm_statistics_of(times, count); /* sorts */
  *seconds = times[(int)(part * count)];
  return DM_OK;
}

/* A low quantile, as other load on a computer only slows it down. */
static dm_status time_runs(bed *b, dm_status (*action)(bed *b), double *seconds) {
  return time_part(b, action, long_enough, 0.25, seconds);
}

/* ---- products ---- */

static dm_status multiply(bed *b) {
  /* On the CPU adding is free; on GPUs the planner adds its cost. */
  const bool adds = b->space[2] == DM_HOST;
  dm_event done;
  DM_TRY(dm_backend_gemm(b->backend, b->view[2], b->view[0], b->view[1], adds, &done));
  return dm_backend_wait(b->backend, done);
}

static dm_status fill_product(bed *b, const dm_problem *p, int64_t size, int64_t width) {
  const bool whole = p->work == DM_I8;
  const dm_generator generator = {
      .kind = whole ? DM_INTEGER : DM_UNIFORM, .seed = 1, .parameter = whole ? 8 : 0};
  dm_event done;
  DM_TRY(take(b, 0, p->work, size, width, &generator));
  DM_TRY(take(b, 1, p->work, width, size, &generator));
  DM_TRY(take(b, 2, p->accumulator, size, size, NULL)); /* written once before timing: */
  DM_TRY(dm_backend_gemm(b->backend, b->view[2], b->view[0], b->view[1], false, &done));
  return dm_backend_wait(b->backend, done);
}

static dm_status measure_product(const dm_run *run, dm_backend *backend, const dm_problem *problem,
                                 double *rate) {
  const bool gpu = backend->ops->device_memory;
  const int64_t size = gpu ? SIZE_GPU : SIZE_CPU, width = gpu ? WIDTH_GPU : WIDTH_CPU;
  const dm_space space = gpu ? DM_DEVICE : DM_HOST;
  bed b = {.run = run, .backend = backend, .space = {space, space, space}};
  double seconds = 0;
  dm_status status = dm_comm_agree(run->world, fill_product(&b, problem, size, width));
  if (!status)
    status = gpu ? time_part(&b, multiply, settled_gpu, 0.5, &seconds)
                 : time_runs(&b, multiply, &seconds);
  close_bed(&b);
  DM_TRY(status);
  const double flops = (dm_dtype_is_complex(problem->work) ? 8.0 : 2.0) * (double)size *
                       (double)size * (double)width;
  *rate = flops / seconds / dm_product_efficiency((double)size, (double)size, (double)width, gpu);
  return DM_OK;
}

/* ---- memory ---- */

/* Like sums over layers: two reads and a write. */
static dm_status add(bed *b) {
  return dm_backend_add(b->backend, b->view[2], b->view[0], b->view[1], 1.0, 1.0);
}

static dm_status upload(bed *b) {
  dm_event done;
  DM_TRY(dm_backend_copy(b->backend, b->view[1], b->view[0], &done));
  return dm_backend_wait(b->backend, done);
}

/* Bytes per second of ACTION on COUNT arrays, the first in FIRST, the others in LAST: of all arrays
 * in one space, or of a copy between two spaces. */
static dm_status measure_stream(const dm_run *run, dm_backend *backend, dm_status (*action)(bed *),
                                int count, dm_space first, dm_space last, double *rate) {
  const int64_t bytes = last == DM_DEVICE ? STREAM_DEVICE : STREAM_HOST, cols = 4096;
  const dm_generator generator = {.kind = DM_UNIFORM, .seed = 1};
  bed b = {.run = run, .backend = backend, .space = {first, last, last}};
  double seconds = 0;
  dm_status status = DM_OK;
  for (int i = 0; i < count && !status; i++)
    status = take(&b, i, DM_F64, bytes / cols / 8, cols, &generator);
  status = dm_comm_agree(run->world, status);
  if (!status) status = time_runs(&b, action, &seconds);
  close_bed(&b);
  DM_TRY(status);
  *rate = (first == last ? count : 1) * (double)bytes / seconds;
  return DM_OK;
}

/* ---- links ---- */

/* The best of several self-tests, inside nodes and between them. */
static dm_status measure_way(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                             dm_link_rates *best) {
  *best = (dm_link_rates){0};
  for (int i = 0; i < SELF_TESTS && run->ranks > 1; i++) {
    dm_link_rates found;
    DM_TRY(dm_comm_agree(run->world, dm_links_self_test(run, backend, ops, &found)));
    best->inside = fmax(best->inside, found.inside);
    best->between = fmax(best->between, found.between);
  }
  return DM_OK;
}

static dm_status measure_ways(const dm_run *run, const dm_setup *setup, dm_rates *rates) {
  dm_backend *backend = setup->backend;
  const dm_transport_ops *host = dm_transport_find("host");
  snprintf(rates->transport, sizeof rates->transport, "%s", setup->links.chosen->name);
  dm_link_rates by_host, by_chosen;
  DM_TRY(measure_way(run, backend, host, &by_host));
  by_chosen = by_host;
  if (setup->links.chosen != host)
    DM_TRY(measure_way(run, backend, setup->links.chosen, &by_chosen));
  rates->staged = by_host.inside;
  rates->link = by_chosen.inside;
  rates->network = by_host.between * run->local_ranks; /* all ranks of a node at once */
  DM_TRY(dm_rates_measure_beside((dm_run *)run, backend, by_host.between, &rates->beside));
  DM_TRY(measure_stream(run, backend, add, 3, DM_HOST, DM_HOST, &rates->host_copy));
  if (!backend->ops->device_memory) return DM_OK;
  DM_TRY(measure_stream(run, backend, add, 3, DM_DEVICE, DM_DEVICE, &rates->memory));
  return measure_stream(run, backend, upload, 2, DM_HOST, DM_DEVICE, &rates->upload);
}

/* ---- all ---- */

static dm_status measure_type(dm_run *run, const dm_engine *engine, dm_operand operand, bool first,
                              dm_rates_facts *facts, dm_rates *rates) {
  const dm_dtype type = dm_operand_dtype(operand);
  const dm_equation equation = {.type_c = DM_DTYPE_NONE, .own = dm_compute_by(operand)};
  dm_problem problem = {
      .m = SIZE_CPU, .n = SIZE_CPU, .k = SIZE_CPU, .file_a = type, .file_b = type};
  dm_setup setup;
  DM_TRY(dm_comm_agree(run->world, dm_types_of(type, &equation, &problem)));
  DM_TRY(dm_setup_open(run, engine, &problem, &setup));
  dm_status status = DM_OK;
  if (first) {
    dm_setup_facts(&setup, run, facts);
    status = measure_ways(run, &setup, rates);
  }
  if (!status) status = measure_product(run, setup.backend, &problem, &rates->flops[operand]);
  dm_setup_close(&setup);
  return status;
}

dm_status dm_rates_measure(dm_run *run, const dm_engine *engine, dm_rates_facts *facts,
                           dm_rates *rates) {
  const dm_operand operands[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_C64, DM_C128, DM_I8, DM_TF32};
  dm_run quiet = *run; /* silences notes on the unused products */
  dm_engine stated = *engine;
  if (quiet.log.level > DM_LOG_WARNING) quiet.log.level = DM_LOG_WARNING;
  stated.stated_rates = true;
  memset(rates, 0, sizeof *rates);
  for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
    const dm_dtype type = dm_operand_dtype(operands[i]);
    if (operands[i] != (dm_operand)type && strcmp(facts->backend, "cpu") == 0)
      rates->flops[operands[i]] = rates->flops[type];
    else
      DM_TRY(measure_type(&quiet, &stated, operands[i], i == 0, facts, rates));
  }
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(rates->date, sizeof rates->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  snprintf(rates->host, sizeof rates->host, "%s", dm_comm_host(run->world));
  return DM_OK;
}
