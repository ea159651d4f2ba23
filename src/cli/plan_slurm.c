#include "cli/plan_slurm.h"

#include <math.h>
#include <stdio.h>

#include "cli/plan_machine.h"
#include "cli/reports.h"
#include "core/checked.h"
#include "core/units.h"
#include "options/request.h"
#include "plan/choose.h"
#include "plan/identity.h"

/* Requested beyond the forecast: its rates may be stated ones, and starting takes time. */
static const double time_factor = 2.0, time_more = 120; /* seconds */
static const double memory_factor = 1.1;
static const int64_t memory_more = INT64_C(1) << 30; /* per rank: libraries, a CUDA context */

static double asked_time(const dm_plan *plan) {
  double seconds = plan->forecast.total * time_factor + time_more;
  return ceil(seconds / 60) * 60;
}

static int64_t asked_memory(const dm_plan *plan, const dm_partition *p) {
  double node =
      ((double)plan->host_bytes * memory_factor + (double)memory_more) * p->machine.ranks_per_node;
  int64_t gib = (int64_t)ceil(node / (double)(INT64_C(1) << 30));
  return p->memory > 0 ? dm_min(gib, p->memory >> 30) : gib;
}

/* 1, 2, 3, 4, 6, 8, 12, ...: common requests; at last, all nodes. */
static int more_nodes(int nodes, int all) {
  int next = nodes < 4 ? nodes + 1 : (nodes & (nodes - 1)) == 0 ? nodes / 2 * 3 : nodes / 3 * 4;
  return nodes < all && next > all ? all : next;
}

static dm_status find_partition(const dm_call *call, dm_partition *p) {
  const dm_settings *s = &call->settings;
  int ranks;
  if (!dm_given(s, "machine")) return dm_partition_detect(call->own.partition, p);
  *p = (dm_partition){0};
  DM_TRY(dm_cli_machine(call, &p->machine, &ranks));
  snprintf(p->name, sizeof p->name, "%.127s", call->own.partition);
  p->gpus = p->machine.gpu ? p->machine.ranks_per_node : 0;
  /* Slurm's default is one core per rank; cores of 0 omit the request. */
  p->cores = p->machine.cores_per_rank > 1 || !p->gpus ? p->machine.cores_per_rank : 0;
  return DM_OK;
}

/* Seconds before the end at which Slurm should send USR1: signals are ignored while C is written.
 * 0: the default of multiply.sbatch suffices. */
static int asked_notice(const dm_plan *plan) {
  double notice = ceil(plan->forecast.write * time_factor / 60) * 60 + 60;
  return notice > 120 ? (int)fmin(notice, 65535) : 0; /* 65535 is Slurm's maximum */
}

static void print_lines(const dm_partition *p, const dm_plan *plan, int nodes, FILE *out) {
  char time[32], recipe[DM_RECIPE];
  long long minutes = (long long)(asked_time(plan) / 60);
  long long gib = (long long)asked_memory(plan, p);
  dm_plan_recipe(plan, recipe);
  fprintf(out, "# predicted: %s with %s\n", dm_format_seconds(plan->forecast.total, time), recipe);
  if (p->name[0]) fprintf(out, "#SBATCH --partition=%s\n", p->name);
  fprintf(out, "#SBATCH --nodes=%d\n", nodes);
  fprintf(out, "#SBATCH --ntasks-per-node=%d\n", p->machine.ranks_per_node);
  if (p->gpus) fprintf(out, "#SBATCH --gpus-per-node=%d\n", p->gpus);
  if (p->cores)
    fprintf(out, "#SBATCH --cpus-per-task=%d\n", p->cores);
  else
    fputs("# add --cpus-per-task, or each rank has one core; cores=16 in --machine states it\n",
          out);
  if (gib > 0) fprintf(out, "#SBATCH --mem=%lldG\n", gib);
  fprintf(out, "#SBATCH --time=%02lld:%02lld:00\n", minutes / 60, minutes % 60);
  if (asked_notice(plan)) fprintf(out, "#SBATCH --signal=B:USR1@%d\n", asked_notice(plan));
}

dm_status dm_cli_plan_slurm(const dm_call *call, const dm_problem *problem, dm_plan *plan,
                            dm_machine *machine) {
  const dm_settings *s = &call->settings;
  dm_partition p;
  DM_TRY(find_partition(call, &p));
  const dm_wishes wishes = dm_request_wishes(s);
  const int all = p.machine.nodes;
  double within = call->own.within > 0 ? call->own.within : p.time_limit, best = INFINITY;
  dm_status status = DM_OK;
  for (int nodes = 1; nodes <= all; nodes = more_nodes(nodes, all)) {
    dm_status_free(status);
    *machine = p.machine;
    machine->nodes = nodes;
    status = dm_plan_choose(problem, machine, nodes * machine->ranks_per_node, &wishes, plan);
    if (status && status->code != DM_E_FIT) return status;
    if (status) continue;
    best = fmin(best, asked_time(plan));
    if (within > 0 && asked_time(plan) > within) continue;
    print_lines(&p, plan, nodes, dm_cli_out(call));
    return DM_OK;
  }
  if (isinf(best)) return dm_context(status, "on all %d nodes", all);
  char wanted[32], found[32];
  dm_status_free(status);
  return dm_hint(dm_fail(DM_E_FIT, "no number of nodes up to %d finishes within %s", all,
                         dm_format_seconds(within, wanted)),
                 "the fastest needs %s: twice the prediction, and 2 minutes to start",
                 dm_format_seconds(best, found));
}
