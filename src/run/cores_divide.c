#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "run/cores.h"

static cpu_set_t all_of(const dm_core_case *of) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int r = 0; r < of->ranks; r++) CPU_OR(&all, &all, &of->bound[r]);
  return all;
}

/* Whether cores of the job would be idle. */
static bool bound_too_narrowly(const dm_core_case *of) {
  cpu_set_t used = all_of(of);
  CPU_AND(&used, &used, &of->job);
  return !CPU_EQUAL(&used, &of->job);
}

static const cpu_set_t *cpus_of(const dm_core_case *of, bool widened, int rank) {
  return widened ? &of->job : &of->bound[rank];
}

/* Position in the topology of the first CPU close to RANK's GPU. */
static int position(const dm_core_case *of, const dm_topology *t, int rank) {
  if (!of->near) return 0;
  for (int i = 0; i < t->count; i++)
    if (CPU_ISSET(t->cpu[i], &of->near[rank])) return i;
  return t->count;
}

/* RANK's position among the ranks with the same cores: ranks close to the first cores come
 * first. */
static int place_among(const dm_core_case *of, const dm_topology *t, bool widened, int rank,
                       int *members) {
  const int own = position(of, t, rank);
  int before = 0;
  *members = 0;
  for (int r = 0; r < of->ranks; r++) {
    if (!CPU_EQUAL(cpus_of(of, widened, r), cpus_of(of, widened, rank))) continue;
    const int other = position(of, t, r);
    before += other < own || (other == own && r < rank);
    ++*members;
  }
  return before;
}

/* Number of cores in CPUS; core_at[i] becomes the index of the core of cpu[i], or -1. */
static int count_cores(const dm_topology *t, const cpu_set_t *cpus, int core_at[CPU_SETSIZE]) {
  int cores = 0, last = -1;
  for (int i = 0; i < t->count; i++) {
    core_at[i] = -1;
    if (!CPU_ISSET(t->cpu[i], cpus)) continue;
    cores += t->core[i] != last;
    last = t->core[i];
    core_at[i] = cores - 1;
  }
  return cores;
}

/* Takes the cores from BEGIN to END of those in CPUS. */
static void take_cores(const dm_topology *t, const cpu_set_t *cpus, const int core_at[], int begin,
                       int end, cpu_set_t *part) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (int i = 0; i < t->count; i++)
    if (CPU_ISSET(t->cpu[i], cpus) && core_at[i] >= begin && core_at[i] < end)
      CPU_SET(t->cpu[i], &some);
  *part = some;
}

/* RANK's share of CORES in CPUS if ranks with other, overlapping sets run there, too. */
static int shared_cores(const dm_core_case *of, int rank, const cpu_set_t *cpus, int cores) {
  double part = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    int users = 1;
    if (!CPU_ISSET(cpu, cpus)) continue;
    for (int r = 0; r < of->ranks; r++)
      users += !CPU_EQUAL(&of->bound[r], &of->bound[rank]) && CPU_ISSET(cpu, &of->bound[r]);
    part += 1.0 / users;
  }
  return (int)(part * (double)cores / (double)dm_max(1, CPU_COUNT(cpus)) + 1e-6);
}

static int threads_of(const dm_core_case *of, int cores) {
  const double granted = of->quota / of->ranks;
  if (of->quota > 0 && granted < cores) cores = (int)(granted + 0.25);
  return (int)dm_max(1, cores);
}

void dm_cores_divide(const dm_core_case *of, const dm_topology *t, int rank, dm_core_part *part) {
  int core_at[CPU_SETSIZE], members;
  const bool widened = !of->keep && bound_too_narrowly(of);
  const cpu_set_t all = *cpus_of(of, widened, rank);
  const int place = place_among(of, t, widened, rank, &members);
  const int cores = count_cores(t, &all, core_at);
  *part = (dm_core_part){.cpus = all, .cores = cores, .reason = DM_CORES_ALL};
  if (members > 1 && cores >= members) {
    const int begin = place * cores / members, end = (place + 1) * cores / members;
    take_cores(t, &all, core_at, begin, end, &part->cpus);
    part->cores = end - begin;
  }
  int own = cores < members ? 1 : part->cores;
  if (!widened) own = shared_cores(of, rank, &part->cpus, own);
  part->threads = threads_of(of, own);
  if (members > 1)
    part->reason = DM_CORES_PART;
  else if (of->ranks > 1 || !CPU_EQUAL(&all, &of->job))
    part->reason = DM_CORES_BOUND;
  if (widened) part->reason = DM_CORES_WIDENED;
  if (of->threads == 0) return;
  /* More threads than the fair part has cores: use all CPUs that the rank may use. */
  if (of->threads > CPU_COUNT(&part->cpus)) part->cpus = all;
  part->threads = (int)dm_min(of->threads, dm_max(1, CPU_COUNT(&part->cpus)));
}
