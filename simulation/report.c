#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/buffer.h"
#include "modelled.h"
#include "plan/partition.h"
#include "plan/plan_text.h"
#include "plan/volume.h"
#include "run/record.h"

/* The name in brackets is the function, not SMPI's macro. */
double sim_real_seconds(void) {
  struct timespec time;
  (clock_gettime)(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Bytes that one rank must move according to the plan: received, with rows padded as on a GPU; the
 * part of these from other nodes, which have PER_NODE consecutive ranks; and read from and written
 * to files. */
typedef struct volume {
  int64_t received, crossed, read, written;
} volume;

typedef struct receiver {
  int rank, per_node;
  volume sum;
} receiver;

static int64_t padded_bytes(int64_t elements, dm_dtype type) {
  return dm_device_row(elements * dm_dtype_size(type));
}

static void add(receiver *r, int from, int64_t bytes) {
  if (from == r->rank) return;
  r->sum.received += bytes;
  if (from / r->per_node != r->rank / r->per_node) r->sum.crossed += bytes;
}

static volume volume_of(const dm_plan *plan, int rank, int per_node) {
  receiver r = {.rank = rank, .per_node = per_node};
  const dm_coords at = dm_plan_coords(plan, rank);
  if (at.idle) return r.sum;
  const dm_problem *p = &plan->problem;
  const dm_range layer = dm_plan_layer(plan, at.l);
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, at.j));
  int64_t width = 0;
  for (int64_t panel = layer.begin; panel < layer.end; panel++)
    width += padded_bytes(dm_range_size(dm_plan_panel(plan, panel)), p->work);
  for (int j = 0; j < plan->pn; j++)
    add(&r, dm_plan_rank(plan, at.i, j, at.l),
        dm_range_size(dm_plan_a_share(plan, 0, at.i, j)) * width);
  for (int i = 0; i < plan->pm; i++)
    add(&r, dm_plan_rank(plan, i, at.j, at.l),
        dm_plan_b_share_rows(plan, i, at.l) * padded_bytes(cols, p->work));
  for (int l = 0; l < plan->pk; l++)
    if (dm_range_size(dm_plan_layer(plan, l)) > 0)
      add(&r, dm_plan_rank(plan, at.i, at.j, l),
          dm_range_size(dm_plan_c_share(plan, 0, at.i, at.l)) * padded_bytes(cols, p->accumulator));
  r.sum.read = dm_range_size(dm_plan_a_share(plan, 0, at.i, at.j)) *
                   dm_range_size(dm_plan_layer_k(plan, at.l)) * dm_dtype_size(p->file_a) +
               dm_plan_b_share_rows(plan, at.i, at.l) * cols * dm_dtype_size(p->file_b);
  r.sum.written = dm_range_size(dm_plan_c_share(plan, 0, at.i, at.l)) * cols * dm_dtype_size(p->c);
  return r.sum;
}

/* ---- over all ranks ---- */

/* Maxima over ranks; sums over ranks, which are exact below 2^53. */
typedef struct most {
  double seconds, products, reduced, exposed, busy;
  double received, crossed; /* bytes */
  double served, filed;     /* bytes of files of the busiest server and of the busiest rank */
} most;

typedef struct sums {
  double busy, received, crossed, expected, expected_crossed; /* expected: by the plan, padded */
  double read, written;
  double differ; /* ranks that moved other numbers of bytes than planned */
} sums;

typedef struct summary {
  most most;
  sums sum;
} summary;

static dm_status sum_up(const dm_run *run, bool files, const sim_outcome *o, summary *all) {
  const volume v = volume_of(&o->plan, run->rank, run->local_ranks);
  const sim_file_bytes *f = &o->files;
  const bool differs = o->received != v.received || o->crossed != v.crossed ||
                       (files && (f->read != v.read || f->written != v.written));
  all->most = (most){o->seconds,
                     o->products,
                     o->reduced,
                     o->exposed,
                     o->busy,
                     (double)o->received,
                     (double)o->crossed,
                     (double)f->busiest,
                     (double)(f->read + f->written)};
  all->sum = (sums){o->busy,           (double)o->received, (double)o->crossed, (double)v.received,
                    (double)v.crossed, (double)f->read,     (double)f->written, differs};
  DM_TRY(dm_comm_max_f64(run->world, &all->most.seconds, sizeof all->most / sizeof(double)));
  return dm_comm_sum_f64(run->world, &all->sum.busy, sizeof all->sum / sizeof(double));
}

static double flops_of(const dm_problem *p) {
  return (dm_dtype_is_complex(p->work) ? 8.0 : 2.0) * (double)p->m * (double)p->n * (double)p->k;
}

/* Operations per second of one GPU that computes its block of C in one call. */
static double local_rate(const sim_options *o, const dm_plan *plan) {
  const dm_model model = {.flops = o->machine.flops[o->problem.work],
                          .memory = o->machine.memory,
                          .latency = o->machine.latency};
  const int64_t rows = dm_range_size(dm_plan_rows(plan, 0, 0));
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, 0));
  const int64_t depth = dm_range_size(dm_plan_layer_k(plan, 0));
  const dm_problem block = {.m = rows, .n = cols, .k = depth, .work = o->problem.work};
  return flops_of(&block) / dm_model_seconds(&model, o->problem.work, rows, cols, depth, false);
}

/* A lower bound for the ranks that the plan uses: max(computing, unavoidable transfers through a
 * node's adapters, the file servers' work) + the first panel + the sum over layers; the planner
 * predicts the last two. */
static double bound_of(const sim_options *o, const dm_plan *plan, const summary *all,
                       double computing) {
  const int used = dm_plan_used(plan), per_node = o->machine.ranks_per_node;
  const int nodes = (used + per_node - 1) / per_node;
  const dm_problem *p = &o->problem;
  const dm_machine *machine = &o->machine;
  const double size = (double)dm_dtype_size(p->work);
  const double memory = (double)machine->device_bytes * machine->ranks_per_node / size;
  const double words = dm_bound_words(p->m, p->n, p->k, nodes, memory);
  const double panels = (double)dm_range_size(dm_plan_layer(plan, 0));
  const double files = all->sum.read + all->sum.written;
  if (o->servers > 0) computing = fmax(computing, files / (o->servers * o->file_rate));
  return fmax(computing, words * size / machine->network) + plan->forecast.fetch / panels +
         plan->forecast.reduce;
}

static void record_setup(const sim_options *o, const dm_run *run, const sim_outcome *outcome,
                         dm_record *record) {
  const dm_problem *p = &o->problem;
  const dm_machine *machine = &o->machine;
  const dm_plan *plan = &outcome->plan;
  char recipe[DM_RECIPE];
  dm_plan_recipe(plan, recipe);
  dm_record_text(record, "problem.shape", "m x n x k", "%lld x %lld x %lld", (long long)p->m,
                 (long long)p->n, (long long)p->k);
  dm_record_integer(record, "problem.m", NULL, DM_SHOWN_PLAIN, p->m);
  dm_record_integer(record, "problem.n", NULL, DM_SHOWN_PLAIN, p->n);
  dm_record_integer(record, "problem.k", NULL, DM_SHOWN_PLAIN, p->k);
  dm_record_text(record, "problem.work", "type", "%s", dm_dtype_name(p->work));
  dm_record_text(record, "problem.c", NULL, "%s", dm_dtype_name(p->c));
  dm_record_text(record, "machine.backend", NULL, "modelled");
  dm_record_text(record, "machine.device", "GPU", "%s", machine->name);
  dm_record_integer(record, "machine.nodes", "nodes", DM_SHOWN_PLAIN, machine->nodes);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, run->ranks);
  dm_record_text(record, "plan.recipe", "plan", "%s", recipe);
  dm_record_text(record, "plan.grid", NULL, "%dx%dx%d", plan->pm, plan->pn, plan->pk);
  dm_record_text(record, "plan.box", "box of a node", "%dx%dx%d", plan->qm, plan->qn, plan->qk);
  dm_record_integer(record, "plan.panel", NULL, DM_SHOWN_PLAIN, plan->kb);
  dm_record_integer(record, "plan.panels_per_layer", "panels", DM_SHOWN_PLAIN,
                    dm_range_size(dm_plan_layer(plan, 0)));
  dm_record_flag(record, "plan.overlap", NULL, plan->overlap);
  dm_record_flag(record, "plan.in_place", NULL, plan->in_place);
  dm_record_integer(record, "plan.device_bytes", "memory of a GPU", DM_SHOWN_BYTES,
                    plan->device_bytes);
  dm_record_real(record, "forecast.total_s", "predicted", DM_SHOWN_SECONDS, plan->forecast.total);
  dm_record_real(record, "forecast.gemm_s", NULL, DM_SHOWN_SECONDS, plan->forecast.gemm);
  dm_record_real(record, "forecast.fetch_s", NULL, DM_SHOWN_SECONDS, plan->forecast.fetch);
  dm_record_real(record, "forecast.exposed_s", NULL, DM_SHOWN_SECONDS, plan->forecast.exposed);
  dm_record_real(record, "forecast.reduce_s", NULL, DM_SHOWN_SECONDS, plan->forecast.reduce);
}

static void record_machine(const sim_options *o, const sim_outcome *outcome, dm_record *record) {
  const dm_machine *machine = &o->machine;
  dm_record_text(record, "simulated.network", NULL, "%s", o->notice > 0 ? "ports" : "flows");
  dm_record_integer(record, "simulated.gpus_per_node", NULL, DM_SHOWN_PLAIN,
                    machine->ranks_per_node);
  dm_record_real(record, "simulated.gpu_flops", NULL, DM_SHOWN_FLOPS,
                 machine->flops[o->problem.work]);
  dm_record_real(record, "simulated.gpu_memory_Bps", NULL, DM_SHOWN_RATE, machine->memory);
  dm_record_real(record, "simulated.link_Bps", NULL, DM_SHOWN_RATE, machine->link);
  dm_record_real(record, "simulated.node_network_Bps", NULL, DM_SHOWN_RATE, machine->network);
  dm_record_real(record, "simulated.notice_s", NULL, DM_SHOWN_SECONDS, o->notice);
  if (o->servers > 0) {
    dm_record_integer(record, "simulated.file_servers", NULL, DM_SHOWN_PLAIN, o->servers);
    dm_record_real(record, "simulated.file_server_Bps", NULL, DM_SHOWN_RATE, o->file_rate);
  }
  dm_record_real(record, "simulated.launch_s", NULL, DM_SHOWN_SECONDS, machine->latency);
  dm_record_real(record, "simulated.slow_down", NULL, DM_SHOWN_PLAIN, o->slow_down);
  dm_record_real(record, "simulated.slow_nic", NULL, DM_SHOWN_PLAIN, o->slow_nic);
  dm_record_integer(record, "simulated.seed", NULL, DM_SHOWN_PLAIN, o->seed);
  dm_record_real(record, "simulated.planning_s", "planning took", DM_SHOWN_SECONDS,
                 outcome->planning);
  dm_record_real(record, "simulated.real_s", "simulating took", DM_SHOWN_SECONDS,
                 sim_real_seconds() - outcome->begun);
  dm_record_integer(record, "simulated.process_bytes", "memory of the simulation", DM_SHOWN_BYTES,
                    dm_memory_own_peak());
}

/* Records the resource that was busy for the largest part of the time: the units, links and
 * adapters of the GPUs in use, or the file servers. */
static void record_limit(const sim_options *o, const dm_plan *plan, const summary *all,
                         dm_record *record) {
  static const char *const names[] = {"compute", "links in a node", "network", "files"};
  const most *m = &all->most;
  const double adapter = o->machine.network / o->machine.ranks_per_node;
  const double files = o->servers > 0 ? fmax(m->served / o->file_rate, m->filed / adapter) : 0.0;
  const double part[4] = {all->sum.busy / dm_plan_used(plan) / m->seconds,
                          (m->received - m->crossed) / o->machine.link / m->seconds,
                          m->crossed / adapter / m->seconds / fmin(1.0, o->slow_nic),
                          files / m->seconds};
  int largest = 0;
  for (int i = 1; i < 4; i++)
    if (part[i] > part[largest]) largest = i;
  dm_record_real(record, "simulated.of_compute", "GPUs busy", DM_SHOWN_PLAIN, part[0]);
  dm_record_real(record, "simulated.of_links", "links busy", DM_SHOWN_PLAIN, part[1]);
  dm_record_real(record, "simulated.of_network", "adapters busy", DM_SHOWN_PLAIN, part[2]);
  if (o->servers > 0)
    dm_record_real(record, "simulated.of_files", "file servers, or the way to them, busy",
                   DM_SHOWN_PLAIN, part[3]);
  dm_record_text(record, "bound.total", "limited by", "%s", names[largest]);
}

static void record_result(const sim_options *o, const dm_run *run, const dm_plan *plan,
                          const summary *all, dm_record *record) {
  const most *m = &all->most;
  const sums *sum = &all->sum;
  const double flops = flops_of(&o->problem), rate = flops / m->seconds;
  const double local = local_rate(o, plan), computing = flops / local / run->ranks;
  const double bound = bound_of(o, plan, all, flops / local / dm_plan_used(plan));
  dm_record_real(record, "times.multiply_s", "time", DM_SHOWN_SECONDS, m->seconds);
  dm_record_real(record, "times.exposed_s", "waiting for panels", DM_SHOWN_SECONDS, m->exposed);
  dm_record_real(record, "times.reduce_s", "summing layers", DM_SHOWN_SECONDS,
                 m->reduced - m->products);
  if (o->servers > 0)
    dm_record_real(record, "times.write_s", "writing", DM_SHOWN_SECONDS, m->seconds - m->reduced);
  dm_record_real(record, "times.gemm_s", "multiplying", DM_SHOWN_SECONDS, m->busy);
  dm_record_real(record, "times.bound_s", "bound", DM_SHOWN_SECONDS, bound);
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS, rate);
  dm_record_real(record, "rates.per_device_flops", "rate of a GPU", DM_SHOWN_FLOPS,
                 rate / run->ranks);
  dm_record_real(record, "rates.of_library", "efficiency", DM_SHOWN_PLAIN, computing / m->seconds);
  dm_record_real(record, "rates.of_bound", "bound / time", DM_SHOWN_PLAIN, bound / m->seconds);
  dm_record_real(record, "moved.between_ranks_bytes", "moved", DM_SHOWN_BYTES, sum->received);
  dm_record_real(record, "moved.planned_bytes", "planned", DM_SHOWN_BYTES,
                 plan->received_bytes_total);
  dm_record_real(record, "moved.between_nodes_bytes", "between nodes", DM_SHOWN_BYTES,
                 sum->crossed);
  dm_record_real(record, "moved.planned_between_nodes_bytes", "planned", DM_SHOWN_BYTES,
                 plan->between_nodes_bytes);
  dm_record_real(record, "moved.padded_bytes", NULL, DM_SHOWN_BYTES, sum->expected);
  dm_record_real(record, "moved.padded_between_nodes_bytes", NULL, DM_SHOWN_BYTES,
                 sum->expected_crossed);
  dm_record_flag(record, "moved.as_planned", "each rank as planned", sum->differ == 0);
  dm_record_real(record, "moved.most_bytes", NULL, DM_SHOWN_BYTES, m->received);
  if (o->servers > 0) {
    dm_record_real(record, "moved.read_bytes", "read", DM_SHOWN_BYTES, sum->read);
    dm_record_real(record, "moved.written_bytes", "written", DM_SHOWN_BYTES, sum->written);
  }
  record_limit(o, plan, all, record);
  dm_record_summary(record, "ranks=%d grid=%dx%dx%d seconds=%.6g efficiency=%.4f", run->ranks,
                    plan->pm, plan->pn, plan->pk, m->seconds, computing / m->seconds);
}

dm_status sim_report(const sim_options *o, const dm_run *run, const sim_outcome *outcome) {
  summary all;
  dm_record *record;
  DM_TRY(sum_up(run, o->servers > 0, outcome, &all));
  if (run->rank > 0) return DM_OK;
  DM_TRY(dm_record_new("simulate", run->command, &record));
  record_setup(o, run, outcome, record);
  record_result(o, run, &outcome->plan, &all, record);
  record_machine(o, outcome, record);
  dm_report_file report;
  if (!o->json || !dm_report_is_stdout(o->json)) dm_record_print(record, true, stdout);
  dm_status status = o->json ? dm_report_open(o->json, false, &report) : DM_OK;
  if (!status && o->json) status = dm_report_add(&report, record);
  if (!status && o->json) status = dm_report_close(&report);
  dm_record_free(record);
  return status;
}
