#include "run/cores.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static long number_of(const char *name) {
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
  const long given = number_of("SLURM_CPUS_ON_NODE");
  return given > 0 && given < CPU_COUNT(job);
}

int dm_cores_threads_stated(void) {
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                                      "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (number_of(names[i]) > 0) return (int)number_of(names[i]);
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
