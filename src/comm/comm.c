#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_impl.h"

extern char **environ;

dm_status dm_comm_check(int code, const char *what) {
  if (code == MPI_SUCCESS) return DM_OK;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  const char *end = strchr(what, '(');
  return dm_fail(DM_E_MPI, "%.*s failed: %.*s", (int)(end ? end - what : 0), what, length, text);
}

static dm_status allocate(dm_comm **comm) {
  *comm = calloc(1, sizeof **comm);
  return *comm ? DM_OK : dm_fail(DM_E_FIT, "no memory for a communicator");
}

/* COMM, which is the caller's until *OUT is it, takes over MPI. */
static dm_status wrap(MPI_Comm mpi, dm_comm *comm, dm_comm **out) {
  comm->mpi = mpi;
  dm_status status =
      dm_comm_check(MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler(");
  int length;
  if (!status) status = dm_comm_check(MPI_Comm_rank(mpi, &comm->rank), "MPI_Comm_rank(");
  if (!status) status = dm_comm_check(MPI_Comm_size(mpi, &comm->size), "MPI_Comm_size(");
  if (!status)
    status = dm_comm_check(MPI_Get_processor_name(comm->host, &length), "MPI_Get_processor_name(");
  if (status)
    free(comm);
  else
    *out = comm;
  return status;
}

/* Open MPI before 4.0.2 corrupts what it writes to files (ompi #6285); its MPI is not to be
 * trusted. */
static dm_status refuse_old_library(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, major, minor, patch;
  DM_MPI(MPI_Get_library_version(text, &length));
  if (sscanf(text, "Open MPI v%d.%d.%d", &major, &minor, &patch) != 3) return DM_OK;
  if (major > 4 || (major == 4 && (minor > 0 || patch >= 2))) return DM_OK;
  return dm_fail(DM_E_MPI, "Open MPI %d.%d.%d is too old: 4.0.2 is the first that is safe", major,
                 minor, patch);
}

static int number_of(const char *name) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : -1;
}

/* A foreign launcher starts N copies that each believe to be alone. */
static dm_status refuse_singletons(const dm_comm *world) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  if (world->size > 1) return DM_OK;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (number_of(names[i]) <= 1) continue;
    return dm_hint(dm_fail(DM_E_MPI, "the launcher started %d ranks, but MPI sees only one",
                           number_of(names[i])),
                   "start damier with the mpirun or srun --mpi=... of the MPI that it was built "
                   "with; damier info names it");
  }
  return DM_OK;
}

static bool has_variable(const char *prefix) {
  for (char **line = environ; *line; line++)
    if (strncmp(*line, prefix, strlen(prefix)) == 0) return true;
  return false;
}

/* Several tasks of srun that no process manager told of each other: MPI would end each of them. */
static dm_status refuse_unconnected(void) {
  int tasks = number_of("SLURM_STEP_NUM_TASKS");
  if (tasks <= 1 || has_variable("PMI") || has_variable("OMPI_COMM_WORLD")) return DM_OK;
  return dm_hint(dm_fail(DM_E_MPI, "srun started %d ranks, but MPI sees only one", tasks),
                 "srun --mpi=pmix connects them (srun --mpi=list), or start them with mpirun");
}

static dm_status take_world(dm_comm **world) {
  MPI_Comm mpi;
  dm_comm *comm;
  DM_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &mpi));
  DM_TRY(allocate(&comm));
  DM_TRY(wrap(mpi, comm, world));
  DM_TRY(refuse_old_library());
  return refuse_singletons(*world);
}

dm_status dm_comm_start(dm_comm **world) {
  int provided;
  DM_TRY(refuse_unconnected());
  DM_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED)
    return dm_fail(DM_E_MPI, "this MPI does not offer MPI_THREAD_FUNNELED");
  return take_world(world);
}

dm_status dm_comm_start_single(dm_comm **world) {
  DM_MPI(MPI_Init(NULL, NULL));
  return take_world(world);
}

void dm_comm_stop(dm_comm *world) {
  dm_comm_free(world);
  MPI_Finalize(); /* whatever it answers, the program ends here */
}

void dm_comm_abort(dm_comm *world, int code) {
  MPI_Abort(world ? world->mpi : MPI_COMM_WORLD, code);
  _Exit(code);
}

int dm_comm_rank_before_start(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (number_of(names[i]) >= 0) return number_of(names[i]);
  return -1;
}

void dm_comm_library(char *text, int64_t size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "unknown MPI";
  int length;
  MPI_Get_library_version(version, &length); /* may be called before MPI is started */
  version[strcspn(version, ",\n")] = 0;
  /* "MPICH Version:\t4.0.2", "MVAPICH Version      :\t3.0" */
  char *word = strstr(version, " Version");
  const char *number = word ? word + strlen(" Version") : "";
  if (word) *word = 0;
  number += strspn(number, " :\t");
  snprintf(text, (size_t)size, "%s%s%s", version, *number ? " " : "", number);
}

int dm_comm_rank(const dm_comm *comm) {
  return comm->rank;
}

int dm_comm_size(const dm_comm *comm) {
  return comm->size;
}

const char *dm_comm_host(const dm_comm *comm) {
  return comm->host;
}

void dm_comm_on_wait(dm_comm *comm, void (*waiting)(void *context), void *context) {
  comm->waiting = waiting;
  comm->context = context;
}

/* No member of COMM goes on where another has no memory. */
static dm_status allocate_together(const dm_comm *comm, dm_comm **new) {
  dm_status status = dm_comm_agree(comm, allocate(new));
  if (!status) return DM_OK;
  status->agreed = false; /* COMM need not be all */
  free(*new);
  return status;
}

static dm_status split_off(const dm_comm *comm, MPI_Comm mpi, dm_comm *new, dm_comm **out) {
  DM_TRY(wrap(mpi, new, out));
  dm_comm_on_wait(*out, comm->waiting, comm->context);
  return DM_OK;
}

dm_status dm_comm_split(const dm_comm *comm, int color, int key, dm_comm **out) {
  MPI_Comm mpi;
  dm_comm *new;
  *out = NULL;
  DM_TRY(allocate_together(comm, &new));
  DM_MPI(MPI_Comm_split(comm->mpi, color < 0 ? MPI_UNDEFINED : color, key, &mpi));
  if (mpi != MPI_COMM_NULL) return split_off(comm, mpi, new, out);
  free(new);
  return DM_OK;
}

dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out) {
  MPI_Comm mpi;
  dm_comm *new;
  DM_TRY(allocate_together(comm, &new));
  DM_MPI(MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &mpi));
  return split_off(comm, mpi, new, out);
}

void dm_comm_free(dm_comm *comm) {
  if (!comm) return;
  MPI_Comm_free(&comm->mpi);
  free(comm);
}
