#include "cli/plan_slurm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gpus.h"
#include "cli/reports.h"
#include "core/checked.h"
#include "core/units.h"
#include "options/request.h"
#include "plan/choose.h"
#include "plan/plan_text.h"

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

/* Partitions as described by sinfo. */

/* The rest of a node's memory is left to the system and libraries. */
static const double usable = 0.85;

/* One line of sinfo: identical nodes of a partition. */
typedef struct line {
  char name[128], nodes[32], cpus[32], megabytes[32], gres[256], limit[32];
} line;

static bool read_line(const char *text, line *l) {
  return sscanf(text, "%127[^|]|%31[^|]|%31[^|]|%31[^|]|%255[^|]|%31[^|\n]", l->name, l->nodes,
                l->cpus, l->megabytes, l->gres, l->limit) == 6;
}

/* "debug*": the star marks the default. */
static bool is_wanted(line *l, const char *wanted) {
  char *star = strchr(l->name, '*');
  if (star) *star = '\0';
  return wanted[0] ? strcmp(l->name, wanted) == 0 : star != NULL;
}

/* Parses "gpu:h100:8(S:0-1)" or "gpu:8"; other resources may precede it. */
static int gpus_of(const char *gres, char type[32]) {
  const char *at = strstr(gres, "gpu:");
  int count = 0;
  type[0] = '\0';
  if (!at) return 0;
  if (sscanf(at, "gpu:%d", &count) == 1) return count;
  return sscanf(at, "gpu:%31[^:,(]:%d", type, &count) == 2 ? count : type[0] ? 1 : 0;
}

/* The planner's name of a GPU: "nvidia_h100_80gb" is an h100. */
static const char *known_gpu(const char *type) {
  const char *const *known = dm_machine_gpus();
  for (int i = 0; known[i]; i++)
    if (strstr(type, known[i])) return known[i];
  return NULL;
}

static dm_status describe(const line *l, dm_partition *p) {
  char words[160], type[32];
  int nodes = atoi(l->nodes), cpus = (int)dm_max(1, atoi(l->cpus));
  p->gpus = gpus_of(l->gres, type);
  for (char *c = type; *c; c++)
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  const char *gpu = p->gpus ? known_gpu(type) : NULL;
  if (p->gpus && !gpu)
    return dm_hint(
        dm_fail(DM_E_USAGE, "the GPUs of partition %s are of unknown type: %s", l->name, l->gres),
        "describe it: --machine \"nodes=%d gpus=%d gpu=h100\"", nodes, p->gpus);
  if (nodes < 1) return dm_fail(DM_E_USAGE, "partition %s has no nodes", l->name);
  /* One rank per node on CPUs: its threads use all cores. */
  int ranks = p->gpus ? p->gpus : 1;
  p->cores = (int)dm_max(1, cpus / ranks);
  p->memory = (int64_t)atoll(l->megabytes) << 20;
  snprintf(p->name, sizeof p->name, "%s", l->name);
  if (strcmp(l->limit, "infinite") == 0 || !dm_parse_duration(l->limit, &p->time_limit))
    p->time_limit = 0;
  snprintf(words, sizeof words, "nodes=%d cores=%d %s%s %s=%d", nodes, p->cores, gpu ? "gpu=" : "",
           gpu ? gpu : "", gpu ? "gpus" : "ranks", ranks);
  DM_TRY(dm_machine_parse(words, &p->machine));
  p->machine.host_bytes = (int64_t)((double)p->memory * usable / ranks);
  return DM_OK;
}

dm_status dm_partition_parse(const char *text, const char *name, dm_partition *partition) {
  line best = {0};
  *partition = (dm_partition){0};
  for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
    line one;
    if (!read_line(at, &one) || !is_wanted(&one, name)) continue;
    if (atoi(one.nodes) > atoi(best.nodes)) best = one; /* the largest group of identical nodes */
  }
  if (best.name[0]) return describe(&best, partition);
  return dm_hint(name[0] ? dm_fail(DM_E_USAGE, "sinfo knows no partition '%s'", name)
                         : dm_fail(DM_E_USAGE, "sinfo knows no default partition"),
                 "--partition names one, or --machine describes one");
}

dm_status dm_partition_detect(const char *name, dm_partition *partition) {
  static const char command[] = "sinfo --noheader --format='%P|%D|%c|%m|%G|%l' 2>/dev/null";
  char text[64 * 1024];
  FILE *sinfo = popen(command, "r");
  size_t size = sinfo ? fread(text, 1, sizeof text - 1, sinfo) : 0;
  text[size] = '\0';
  if (!sinfo || pclose(sinfo) != 0)
    return dm_hint(dm_fail(DM_E_USAGE, "sinfo failed: is Slurm installed here?"),
                   "--machine \"nodes=16 gpus=8 gpu=h200\" describes the partition");
  return dm_partition_parse(text, name, partition);
}
