#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm_impl.h"

int dm_launched_number(const char *name) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : -1;
}

static int first_number(const char *const *names) {
  for (; *names; names++)
    if (dm_launched_number(*names) >= 0) return dm_launched_number(*names);
  return -1;
}

static bool has_variable(const char *prefix) {
  for (char **line = environ; *line; line++)
    if (strncmp(*line, prefix, strlen(prefix)) == 0) return true;
  return false;
}

/* Variables that users set for all programs, such as PRTE_MCA_rmaps_default_mapping_policy, are not
 * listed here. */
static const char *const launched_prefixes[] = {
    "OMPI_COMM_WORLD_", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_", "PMI2_",         "MPIRUN_",
    "MV2_COMM_WORLD",   "PALS_",     "ALPS_",          "JSM_", "FLUX_TASK_RANK"};

void dm_comm_forget_launcher(void) {
  for (size_t i = 0; i < sizeof launched_prefixes / sizeof launched_prefixes[0]; i++)
    for (char **line = environ; *line;) {
      char name[128];
      const size_t length = strcspn(*line, "=");
      if (strncmp(*line, launched_prefixes[i], strlen(launched_prefixes[i])) != 0 ||
          length >= sizeof name) {
        line++;
        continue;
      }
      memcpy(name, *line, length);
      name[length] = '\0';
      if (unsetenv(name) == 0)
        line = environ; /* the list has moved */
      else
        line++;
    }
}

bool dm_launched_by_nobody(void) {
  for (size_t i = 0; i < sizeof launched_prefixes / sizeof launched_prefixes[0]; i++)
    if (has_variable(launched_prefixes[i])) return false;
  return true;
}

dm_status dm_launched_unconnected(void) {
  const int tasks = dm_launched_number("SLURM_STEP_NUM_TASKS");
  if (tasks <= 1 || has_variable("PMI") || has_variable("OMPI_COMM_WORLD")) return DM_OK;
  return dm_hint(dm_fail(DM_E_MPI, "srun started %d ranks, but MPI sees only one", tasks),
                 "use srun --mpi=pmix (srun --mpi=list shows what is available), or mpirun");
}

dm_status dm_launched_apart(int rank) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const int ranks = dm_launched_number(names[i]);
    if (ranks > 1)
      return dm_fail(DM_E_MPI, "the launcher started %d ranks, but MPI sees only one", ranks);
  }
  if (rank <= 0) return DM_OK;
  return dm_fail(DM_E_MPI,
                 "the environment (PMIX_RANK, PMI_RANK or SLURM_PROCID) calls this process rank "
                 "%d, but MPI sees only one rank",
                 rank);
}

int dm_launched_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID", NULL};
  return first_number(names);
}

int dm_comm_rank_before_start(void) {
  const int rank = dm_launched_rank();
  return rank < dm_comm_size_before_start() ? rank : 0;
}

static int ranks_before_start(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
  return first_number(names);
}

int dm_comm_size_before_start(void) {
  const int tasks = dm_launched_number("SLURM_STEP_NUM_TASKS"), ranks = ranks_before_start();
  return ranks > 0 ? ranks : tasks > 0 ? tasks : 1;
}

int dm_comm_local_rank_before_start(bool *only) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "SLURM_LOCALID", NULL};
  *only = ranks_before_start() == 1;
  return dm_launched_by_nobody() ? -1 : first_number(names);
}
