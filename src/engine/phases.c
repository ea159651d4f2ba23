#include "engine/phases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "engine/execute.h"
#include "plan/grid_cost.h"

dm_status dm_phases_worst(const dm_run *run, const dm_rank_state *local, dm_phases *worst) {
  const dm_phases *p = &local->phases;
  int64_t bytes[] = {0, p->uploaded, p->from_files, 0}, resident = dm_memory_own_peak();
  if (local->transport) bytes[0] = dm_transport_received(local->transport);
  if (local->plan && local->plan->problem.compute.falls_back) /* no plan: all tiles were complete */
    DM_TRY(dm_comm_agree(run->world, dm_backend_native_lines(local->backend, &bytes[3])));
  *worst = *p;
  DM_TRY(dm_comm_max_f64(run->world, worst->seconds, DM_PHASE_SECONDS));
  DM_TRY(dm_comm_sum_i64(run->world, bytes, 4));
  DM_TRY(dm_comm_max_i64(run->world, &resident, 1));
  worst->received = bytes[0];
  worst->uploaded = bytes[1];
  worst->from_files = bytes[2];
  worst->natively = bytes[3];
  worst->resident = resident;
  return DM_OK;
}

enum { BY_RANK = 16, MOST_LISTED = 1024 };

static void list_of(const dm_phases *p, double seconds[BY_RANK]) {
  const double all[BY_RANK] = {p->read,
                               p->multiply,
                               p->gemm,
                               fmax(0.0, p->multiply - p->gemm),
                               p->fetch,
                               p->upload,
                               p->exposed_fetch,
                               p->exposed_upload,
                               p->reduce,
                               p->write,
                               p->check + p->verify,
                               p->start,
                               p->plan,
                               p->open,
                               p->commit,
                               p->wait};
  memcpy(seconds, all, sizeof all);
}

static void record_by_rank(const double *all, int ranks, dm_record *record) {
  static const char *const names[BY_RANK] = {
      "read",          "multiply",       "gemm",   "exposed", "fetch",  "upload",
      "exposed_fetch", "exposed_upload", "reduce", "write",   "verify", "start",
      "plan",          "open",           "commit", "wait"};
  double one[MOST_LISTED];
  for (int i = 0; i < BY_RANK; i++) {
    double most = all[i], least = all[i], sum = 0.0;
    char path[64];
    for (int r = 0; r < ranks; r++) {
      const double seconds = all[r * BY_RANK + i];
      if (r < MOST_LISTED) one[r] = seconds;
      most = fmax(most, seconds);
      least = fmin(least, seconds);
      sum += seconds;
    }
    snprintf(path, sizeof path, "phases.%s.max_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, most);
    snprintf(path, sizeof path, "phases.%s.mean_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, sum / ranks);
    snprintf(path, sizeof path, "phases.%s.min_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, least);
    snprintf(path, sizeof path, "ranks.%s_s", names[i]);
    if (ranks <= MOST_LISTED) dm_record_series(record, path, one, ranks);
  }
}

dm_status dm_phases_by_rank(const dm_run *run, const dm_phases *mine, dm_record *record) {
  double seconds[BY_RANK];
  DM_FREED double *all = NULL;
  dm_status status = DM_OK;
  list_of(mine, seconds);
  if (run->rank == 0) status = dm_buffer_table((int64_t)run->ranks * BY_RANK, &all);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_gather(run->world, seconds, sizeof seconds, all, 0));
  if (record) record_by_rank(all, run->ranks, record);
  return DM_OK;
}

/* The phase for idle time in a round of steps of KINDS. */
static double *rest_of(dm_phases *phases, unsigned kinds) {
  if (kinds & (1u << DM_STEP_GEMM | 1u << DM_STEP_STRIP)) return &phases->multiply;
  return kinds & DM_LOADS ? &phases->read : &phases->write;
}

void dm_phases_take(const dm_trace *trace, unsigned kinds, double seconds, double others,
                    dm_phases *phases) {
  const double reads = trace->exposed[DM_ROW_READ], writes = trace->exposed[DM_ROW_WRITE];
  others = phases->check + phases->verify - others;
  phases->read += reads;
  phases->write += fmax(0.0, writes - others);
  *rest_of(phases, kinds) += fmax(0.0, seconds - reads - fmax(writes, others));
  phases->gemm += trace->busy[DM_ROW_COMPUTE];
  phases->fetch += trace->busy[DM_ROW_TRANSPORT];
  phases->upload += trace->busy[DM_ROW_COPY];
  phases->exposed_fetch += trace->exposed[DM_ROW_TRANSPORT];
  phases->exposed_upload += trace->exposed[DM_ROW_COPY];
}

double dm_product_flops(const dm_problem *problem) {
  double each = dm_dtype_is_complex(problem->work) ? 8.0 : 2.0;
  return each * (double)problem->m * (double)problem->n * (double)problem->k;
}

double dm_phases_flops(const dm_phases *worst, const dm_plan *plan) {
  double seconds = worst->multiply + worst->reduce;
  return seconds > 0 ? dm_product_flops(&plan->problem) / seconds : 0.0;
}

double dm_phases_sum(const dm_phases *p) {
  double sum = 0.0;
  for (int i = 0; i < DM_PHASES; i++) sum += p->seconds[i];
  return sum;
}

dm_status dm_phases_mean(const dm_run *run, const dm_phases *mine, dm_phases *mean) {
  *mean = *mine;
  DM_TRY(dm_comm_sum_f64(run->world, mean->seconds, DM_PHASE_SECONDS));
  for (int i = 0; i < DM_PHASE_SECONDS; i++) mean->seconds[i] /= run->ranks;
  return DM_OK;
}

static void record_times(const dm_phases *mean, const dm_plan *plan, double total,
                         dm_record *record) {
  const struct {
    const char *path, *label;
    double seconds;
    bool shown;
  } lines[] = {
      {"times.total_s", "total", total, true},
      {"times.start_s", "  starting", mean->start, true},
      {"times.plan_s", "  planning", mean->plan, true},
      {"times.open_s", "  opening files and memory", mean->open, true},
      {"times.read_s", "  reading", mean->read, true},
      {"times.multiply_s", "  multiplying", mean->multiply, true},
      {"times.exposed_s", "    not hidden behind products", fmax(0.0, mean->multiply - mean->gemm),
       true},
      {"times.reduce_s", "  summing layers", mean->reduce, plan->pk > 1},
      {"times.write_s", "  writing", mean->write, true},
      {"times.verify_s", "  verifying", mean->check + mean->verify, true},
      {"times.commit_s", "  committing C", mean->commit, true},
      {"times.wait_s", "  waiting for other ranks", mean->wait, dm_plan_used(plan) > 1},
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    dm_record_real(record, lines[i].path, lines[i].shown ? lines[i].label : NULL, DM_SHOWN_SECONDS,
                   lines[i].seconds);
}

void dm_phases_record_natively(const dm_phases *worst, const dm_plan *plan, dm_record *record) {
  if (plan->problem.compute.falls_back)
    dm_record_integer(record, "problem.natively", "rows and columns not split", DM_SHOWN_PLAIN,
                      worst->natively);
}

void dm_phases_record(const dm_phases *worst, const dm_phases *mean, const dm_plan *plan,
                      double total, dm_record *record) {
  record_times(mean, plan, total, record);
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS,
                 dm_phases_flops(worst, plan));
  dm_phases_record_natively(worst, plan, record);
  dm_record_integer(record, "moved.between_ranks_bytes",
                    dm_plan_used(plan) > 1 ? "moved between ranks" : NULL, DM_SHOWN_BYTES,
                    worst->received);
  dm_record_integer(record, "moved.to_devices_bytes", NULL, DM_SHOWN_BYTES, worst->uploaded);
  dm_record_integer(record, "moved.from_files_bytes", NULL, DM_SHOWN_BYTES, worst->from_files);
  dm_record_integer(record, "memory.host_process_bytes", NULL, DM_SHOWN_BYTES, plan->process_bytes);
  dm_record_integer(record, "memory.host_peak_bytes", NULL, DM_SHOWN_BYTES, worst->resident);
}

void dm_forecast_record(const dm_plan *plan, const dm_machine *machine, dm_record *record) {
  const dm_forecast *f = &plan->forecast;
  const dm_limits by = dm_plan_limits(plan, machine);
  const struct {
    const char *name;
    double seconds;
    dm_resource bound;
  } phases[] = {{"total", f->total, by.total},    {"read", f->read, by.read},
                {"upload", f->upload, by.upload}, {"fetch", f->fetch, by.fetch},
                {"gemm", f->gemm, by.gemm},       {"exposed", f->exposed, by.exposed},
                {"reduce", f->reduce, by.reduce}, {"write", f->write, by.write}};
  if (machine->slower > 0)
    dm_record_real(record, "forecast.slower", NULL, DM_SHOWN_PLAIN, machine->slower);
  dm_record_real(record, "forecast.start_s", NULL, DM_SHOWN_SECONDS, f->start);
  dm_record_real(record, "forecast.command_s", NULL, DM_SHOWN_SECONDS, f->start + f->total);
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "forecast.%s_s", phases[i].name);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, phases[i].seconds);
    snprintf(path, sizeof path, "bound.%s", phases[i].name);
    dm_record_text(record, path, NULL, "%s", dm_resource_name(phases[i].bound));
  }
}
