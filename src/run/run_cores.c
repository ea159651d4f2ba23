/* Divides the cores of a node among its ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/cgroup.h"
#include "core/checked.h"
#include "run/run.h"

/* Sent by each rank to the others of its node. */
typedef struct standing {
  cpu_set_t bound, job, near;
  bool asked;
} standing;

static bool has_hardware_threads(void) {
  int active = 1; /* unless the system has none */
  FILE *file = fopen("/sys/devices/system/cpu/smt/active", "r");
  if (!file) return true;
  if (fscanf(file, "%d", &active) != 1) active = 1;
  fclose(file);
  return active != 0;
}

/* hwloc is only needed if it matters which CPUs are close to each other. */
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

dm_status dm_run_place(dm_run *run, int threads, const char *near) {
  const int64_t size = sizeof(standing);
  standing own = {.bound = run->bound, .job = run->job_cpus}, *all = NULL;
  cpu_set_t *sets = NULL;
  dm_cpus_parse(near, &own.near);
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
  /* Binding is not permitted: use what the launcher left. */
  run->cores.cpus = run->bound;
  run->cores.threads = (int)dm_min(run->cores.threads, CPU_COUNT(&run->bound));
  run->cores.reason = DM_CORES_BOUND;
  return DM_OK;
}

void dm_run_take_node(dm_run *run) {
  if (!run->stays && dm_cores_take(&run->job_cpus)) run->taken = run->job_cpus;
}

void dm_run_record_cores(const dm_run *run, dm_record *record) {
  char cpus[256], bound[256], why[320] = "";
  dm_cpus_text(&run->cores.cpus, cpus, sizeof cpus);
  dm_cpus_text(&run->bound, bound, sizeof bound);
  if (run->cores.reason == DM_CORES_BOUND) snprintf(why, sizeof why, ", as the launcher bound it");
  if (run->cores.reason == DM_CORES_PART)
    snprintf(why, sizeof why, ", its part of what %d ranks share", run->local_ranks);
  if (run->cores.reason == DM_CORES_WIDENED)
    snprintf(why, sizeof why, ", its fair part; the launcher had bound it to %s", bound);
  dm_record_text(record, "machine.cpus", NULL, "%s", cpus);
  dm_record_text(record, "machine.binding", run->ranks > 1 ? "rank 0 runs on" : "runs on",
                 "CPU%s %s%s", CPU_COUNT(&run->cores.cpus) == 1 ? "" : "s", cpus, why);
}
