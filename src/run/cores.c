#include "run/cores.h"

#include <dirent.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/cgroup.h"
#include "core/checked.h"
#include "run/launcher.h"

/* Reduces WANTED to the CPUs that control groups allow, then restores the process's own binding. */
static void cut_to_allowed(const cpu_set_t *own, cpu_set_t *wanted) {
  cpu_set_t allowed;
  if (sched_setaffinity(0, sizeof *wanted, wanted) == 0 &&
      sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    *wanted = allowed;
  else
    *wanted = *own;
  (void)sched_setaffinity(0, sizeof *own, own);
}

void dm_cores_allowed(cpu_set_t *own, cpu_set_t *job) {
  dm_launcher launcher;
  if (sched_getaffinity(0, sizeof *own, own) != 0) {
    CPU_ZERO(own); /* more CPUs than a set holds: assume no binding */
    for (long i = 0; i < dm_min(CPU_SETSIZE, sysconf(_SC_NPROCESSORS_ONLN)); i++) CPU_SET(i, own);
  }
  *job = *own;
  dm_launcher_find(&launcher, false);
  if (!launcher.name[0] || sched_getaffinity(launcher.pid, sizeof *job, job) != 0) return;
  if (!CPU_EQUAL(job, own)) cut_to_allowed(own, job);
}

static long cores_number_of(const char *name) {
  const char *text = getenv(name);
  const long number = text ? strtol(text, NULL, 10) : 0;
  return number > 0 && number < CPU_SETSIZE ? number : 0;
}

bool dm_cores_asked(const cpu_set_t *job) {
  /* Open MPI's mpirun passes its options to the ranks, but not its defaults. */
  static const char *const stated[] = {
      "OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_hwloc_base_cpu_set",
      "OMPI_MCA_rmaps_base_cpus_per_rank",  "PRTE_MCA_hwloc_default_binding_policy",
      "PRTE_MCA_hwloc_default_cpu_list",    "SLURM_CPUS_PER_TASK"};
  static const char *const mapped[] = {"OMPI_MCA_rmaps_base_mapping_policy",
                                       "PRTE_MCA_rmaps_default_mapping_policy"};
  for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++)
    if (getenv(stated[i])) return true;
  for (size_t i = 0; i < sizeof mapped / sizeof mapped[0]; i++)
    if (getenv(mapped[i]) && strcasestr(getenv(mapped[i]), "pe=")) return true;
  /* Hydra binds only on request. If Slurm gave the job a part of the node, the rest may belong to
   * others. */
  if (!getenv("OMPI_COMM_WORLD_SIZE") && getenv("PMI_RANK") && !getenv("SLURM_STEP_ID"))
    return true;
  const long cpus = cores_number_of("SLURM_CPUS_ON_NODE");
  return cpus > 0 && cpus < CPU_COUNT(job);
}

int dm_cores_threads_stated(void) {
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                      "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (cores_number_of(names[i]) > 0) return (int)cores_number_of(names[i]);
  return 0;
}

bool dm_cores_take(const cpu_set_t *cpus) {
  DIR *threads = opendir("/proc/self/task");
  if (sched_setaffinity(0, sizeof *cpus, cpus) != 0) {
    if (threads) closedir(threads);
    return false;
  }
  /* Includes the threads that libraries started before. */
  for (struct dirent *entry; threads && (entry = readdir(threads));)
    if (atoi(entry->d_name) > 0) (void)sched_setaffinity(atoi(entry->d_name), sizeof *cpus, cpus);
  if (threads) closedir(threads);
  return true;
}

static cpu_set_t cores_all_of(const dm_core_case *of) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int r = 0; r < of->ranks; r++) CPU_OR(&all, &all, &of->bound[r]);
  return all;
}

/* Whether cores of the job would be idle. */
static bool bound_too_narrowly(const dm_core_case *of) {
  cpu_set_t used = cores_all_of(of);
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
static void cores_take_cores(const dm_topology *t, const cpu_set_t *cpus, const int core_at[],
                             int begin, int end, cpu_set_t *part) {
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
    cores_take_cores(t, &all, core_at, begin, end, &part->cpus);
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

/* CPUs in the order of their numbers, one hardware thread per core, without hwloc. */
static void plain_topology(dm_topology *t) {
  t->count = CPU_SETSIZE;
  for (int i = 0; i < CPU_SETSIZE; i++) t->cpu[i] = t->core[i] = i;
}

static void cores_list(hwloc_topology_t loaded, dm_topology *t) {
  const int count = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PU);
  for (int i = 0; i < count; i++) {
    const hwloc_obj_t pu = hwloc_get_obj_by_type(loaded, HWLOC_OBJ_PU, (unsigned)i);
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_CORE, pu);
    if (pu->os_index >= CPU_SETSIZE) continue;
    t->cpu[t->count] = (int)pu->os_index;
    t->core[t->count++] = (int)(core ? core : pu)->logical_index;
  }
}

void dm_topology_read(dm_topology *t) {
  hwloc_topology_t loaded;
  t->count = 0;
  if (hwloc_topology_init(&loaded) == 0) {
    if (hwloc_topology_load(loaded) == 0) cores_list(loaded, t);
    hwloc_topology_destroy(loaded);
  }
  if (t->count == 0) plain_topology(t);
}

void dm_cpus_text(const cpu_set_t *cpus, char *text, size_t size) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  text[0] = 0;
  if (!set) return;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, cpus)) (void)hwloc_bitmap_set(set, cpu);
  (void)hwloc_bitmap_list_snprintf(text, size, set);
  hwloc_bitmap_free(set);
}

void dm_cpus_parse(const char *text, cpu_set_t *cpus) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  CPU_ZERO(cpus);
  if (!set) return;
  if (hwloc_bitmap_list_sscanf(set, text) == 0)
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < CPU_SETSIZE;
         cpu = hwloc_bitmap_next(set, cpu))
      CPU_SET(cpu, cpus);
  hwloc_bitmap_free(set);
}

static bool has_hardware_threads(void) {
  int active = 1; /* unless the system has none */
  FILE *file = fopen("/sys/devices/system/cpu/smt/active", "r");
  if (!file) return true;
  if (fscanf(file, "%d", &active) != 1) active = 1;
  fclose(file);
  return active != 0;
}

/* hwloc is only needed if it matters which CPUs are close to each other. */
void dm_topology_for(const dm_core_case *of, dm_topology *topology) {
  const bool matters = of->ranks > 1 && CPU_COUNT(&of->job) > of->ranks;
  if (matters || getenv("HWLOC_SYNTHETIC") || has_hardware_threads())
    dm_topology_read(topology);
  else
    plain_topology(topology);
}

dm_status dm_cores_expect(int ranks, dm_core_part *part) {
  cpu_set_t own;
  dm_core_case of = {.ranks = (int)dm_min(ranks, CPU_SETSIZE),
                     .quota = dm_cgroup_cores(""),
                     .threads = dm_cores_threads_stated()};
  DM_FREED cpu_set_t *sets = NULL;
  DM_FREED dm_topology *topology = NULL;
  dm_cores_allowed(&own, &of.job);
  DM_TRY(dm_buffer_table(of.ranks, &sets));
  DM_TRY(dm_buffer_table(1, &topology));
  for (int r = 0; r < of.ranks; r++) sets[r] = of.job;
  of.bound = sets;
  dm_topology_for(&of, topology);
  dm_cores_divide(&of, topology, 0, part);
  return DM_OK;
}
