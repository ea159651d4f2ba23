/* Ranks of a node divide its cores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/cgroup.h"
#include "core/checked.h"
#include "run/run.h"

/* What each rank tells the others of its node. */
typedef struct standing {
  cpu_set_t bound, job, near;
  bool asked;
} standing;

static bool has_hardware_threads(void) {
  int active = 1; /* unless the system says that there are none */
  FILE *file = fopen("/sys/devices/system/cpu/smt/active", "r");
  if (!file) return true;
  if (fscanf(file, "%d", &active) != 1) active = 1;
  fclose(file);
  return active != 0;
}

/* hwloc is asked where it matters who is next to whom. */
static void look_at_topology(const dm_core_case *of, dm_topology *topology) {
  const bool matters = of->ranks > 1 && CPU_COUNT(&of->job) > of->ranks;
  if (matters || getenv("HWLOC_SYNTHETIC") || has_hardware_threads())
    dm_topology_read(topology);
  else
    dm_topology_plain(topology);
}

static dm_status divide(dm_run *run, const standing *all, cpu_set_t *sets, int threads) {
  const int ranks = run->local_ranks;
  dm_core_case of = {.ranks = ranks,
                     .bound = sets,
                     .near = sets + ranks,
                     .job = all[0].job,
                     .quota = dm_cgroup_cores(""),
                     .threads = threads > 0 ? threads : dm_cores_threads_stated()};
  dm_topology *topology = malloc(sizeof *topology);
  if (!topology) return dm_fail(DM_E_FIT, "no memory for the topology");
  for (int r = 0; r < ranks; r++) {
    sets[r] = all[r].bound;
    sets[ranks + r] = all[r].near;
    CPU_OR(&of.job, &of.job, &all[r].job);
    of.keep |= all[r].asked;
  }
  look_at_topology(&of, topology);
  dm_cores_divide(&of, topology, run->local_rank, &run->cores);
  run->job_cpus = of.job;
  free(topology);
  return DM_OK;
}

/* What stands behind a mistake is left out. */
static void read_list(const char *text, cpu_set_t *cpus) {
  CPU_ZERO(cpus);
  for (char *end; *text; text = *end == ',' ? end + 1 : end) {
    const long first = strtol(text, &end, 10);
    long last = first;
    if (end == text) return;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    for (long cpu = first; cpu >= 0 && cpu <= last && cpu < CPU_SETSIZE; cpu++)
      CPU_SET((int)cpu, cpus);
    if (*end && *end != ',') return;
  }
}

dm_status dm_run_place(dm_run *run, int threads, const char *near) {
  const int64_t size = sizeof(standing);
  standing own = {.bound = run->bound, .job = run->job_cpus}, *all = NULL;
  cpu_set_t *sets = NULL;
  read_list(near, &own.near);
  own.asked = run->stays || dm_cores_asked(&own.job);
  dm_status status = dm_buffer_zeroed(run->local_ranks, size, (void **)&all);
  if (!status)
    status = dm_buffer_zeroed(2 * (int64_t)run->local_ranks, sizeof *sets, (void **)&sets);
  status = dm_comm_agree(run->node, status);
  if (!status) status = dm_comm_gather(run->node, &own, size, all, 0);
  if (!status) status = dm_comm_broadcast(run->node, all, run->local_ranks * size, 0);
  if (!status) status = divide(run, all, sets, threads);
  free(sets);
  free(all);
  if (status) return status;
  if (run->stays) return DM_OK;
  if (CPU_EQUAL(&run->cores.cpus, &run->taken) || dm_cores_take(&run->cores.cpus)) {
    run->taken = run->cores.cpus;
    return DM_OK;
  }
  /* Not allowed here: what the launcher left is what there is. */
  run->cores.cpus = run->bound;
  run->cores.threads = (int)dm_min(run->cores.threads, CPU_COUNT(&run->bound));
  run->cores.reason = DM_CORES_BOUND;
  return DM_OK;
}

void dm_run_take_node(dm_run *run) {
  if (!run->stays && dm_cores_take(&run->job_cpus)) run->taken = run->job_cpus;
}

/* "0-7,16-23" */
static void list(const cpu_set_t *cpus, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
    if (!CPU_ISSET(cpu, cpus)) continue;
    const int first = cpu;
    while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus)) cpu++;
    const char *comma = used ? "," : "";
    used += (size_t)(cpu > first ? snprintf(text + used, size - used, "%s%d-%d", comma, first, cpu)
                                 : snprintf(text + used, size - used, "%s%d", comma, cpu));
  }
}

void dm_run_record_cores(const dm_run *run, dm_record *record) {
  char cpus[256], bound[256], why[320] = "";
  list(&run->cores.cpus, cpus, sizeof cpus);
  list(&run->bound, bound, sizeof bound);
  if (run->cores.reason == DM_CORES_BOUND) snprintf(why, sizeof why, ", as the launcher bound it");
  if (run->cores.reason == DM_CORES_PART)
    snprintf(why, sizeof why, ", its part of what %d ranks share", run->local_ranks);
  if (run->cores.reason == DM_CORES_WIDENED)
    snprintf(why, sizeof why, ", its fair part; the launcher had bound it to %s", bound);
  dm_record_text(record, "machine.cpus", NULL, "%s", cpus);
  dm_record_text(record, "machine.binding", run->ranks > 1 ? "rank 0 runs on" : "runs on",
                 "CPU%s %s%s", CPU_COUNT(&run->cores.cpus) == 1 ? "" : "s", cpus, why);
}
