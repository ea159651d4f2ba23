#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/adopt.h"
#include "comm/comm_impl.h"

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

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

/* Wraps MPI in COMM, which stays the caller's unless *OUT is set to it. */
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

/* May be called before MPI is started; false: another MPI library. */
static bool is_open_mpi(int *major, int *minor, int *patch) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  return MPI_Get_library_version(text, &length) == MPI_SUCCESS &&
         sscanf(text, "Open MPI v%d.%d.%d", major, minor, patch) == 3;
}

/* Open MPI before 4.0.2 corrupts files that it writes (ompi #6285). */
static dm_status refuse_old_library(void) {
  int major, minor, patch;
  if (!is_open_mpi(&major, &minor, &patch)) return DM_OK;
  if (major > 4 || (major == 4 && (minor > 0 || patch >= 2))) return DM_OK;
  return dm_fail(DM_E_MPI, "Open MPI %d.%d.%d is too old: 4.0.2 or newer is needed", major, minor,
                 patch);
}

static int number_of(const char *name) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : -1;
}

/* With the launcher of another MPI, each rank starts as a job of one rank. */
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

/* Several tasks of srun without a process manager: MPI would abort each of them. */
static dm_status refuse_unconnected(void) {
  int tasks = number_of("SLURM_STEP_NUM_TASKS");
  if (tasks <= 1 || has_variable("PMI") || has_variable("OMPI_COMM_WORLD")) return DM_OK;
  return dm_hint(dm_fail(DM_E_MPI, "srun started %d ranks, but MPI sees only one", tasks),
                 "use srun --mpi=pmix (srun --mpi=list shows what is available), or mpirun");
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

/* Whether no launcher started this process. Variables that users set for all programs, such as
 * PRTE_MCA_rmaps_default_mapping_policy, are not listed here. */
static bool nobody_started(void) {
  static const char *const told[] = {
      "OMPI_COMM_WORLD_", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_", "PMI2_",         "MPIRUN_",
      "MV2_COMM_WORLD",   "PALS_",     "ALPS_",          "JSM_", "FLUX_TASK_RANK"};
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
    if (has_variable(told[i])) return false;
  return true;
}

static dm_status take_alone(dm_comm **world) {
  dm_comm *comm;
  DM_TRY(allocate(&comm));
  comm->mpi = MPI_COMM_NULL;
  comm->size = 1;
  if (gethostname(comm->host, sizeof comm->host - 1) != 0)
    snprintf(comm->host, sizeof comm->host, "localhost");
  *world = comm;
  return DM_OK;
}

/* Open MPI spends 0.2 s probing networks, which ranks of one node do not need. A user's own choice
 * has precedence; if the variable cannot be set, only time is lost. */
static void look_for_no_network(void) {
  int major, minor, patch;
  const int ranks = number_of("OMPI_COMM_WORLD_SIZE");
  if (ranks <= 0 || ranks != number_of("OMPI_COMM_WORLD_LOCAL_SIZE") || getenv("OMPI_MCA_pml") ||
      getenv("OMPI_MCA_btl") || !is_open_mpi(&major, &minor, &patch))
    return;
  (void)setenv("OMPI_MCA_pml", "ob1", 0);
  (void)setenv("OMPI_MCA_btl", major < 5 ? "self,vader" : "self,sm", 0);
}

/* hwloc, here and inside Open MPI, and the UCX of MPICH print warnings in containers without
 * /sys. */
static void hide_missing_sysfs(void) {
  if (access("/sys/devices/system/cpu", F_OK) == 0) return;
  (void)setenv("HWLOC_HIDE_ERRORS", "2", 0);
  (void)setenv("UCX_LOG_LEVEL", "fatal", 0);
}

dm_status dm_comm_start(dm_comm **world) {
  int provided;
  hide_missing_sysfs();
  DM_TRY(refuse_unconnected());
  if (nobody_started()) return take_alone(world);
  look_for_no_network();
  DM_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED)
    return dm_fail(DM_E_MPI, "this MPI does not offer MPI_THREAD_FUNNELED");
  return take_world(world);
}

dm_status dm_comm_start_single(dm_comm **world) {
  DM_MPI(MPI_Init(NULL, NULL));
  return take_world(world);
}

/* Whether a program that uses this as a library may call MPI now. */
static dm_status check_started(void) {
  int started, ended;
  DM_MPI(MPI_Initialized(&started));
  if (!started) return dm_fail(DM_E_USAGE, "MPI has not been started");
  DM_MPI(MPI_Finalized(&ended));
  return ended ? dm_fail(DM_E_USAGE, "MPI has been finalized") : DM_OK;
}

static dm_status check_thread(void) {
  int provided, is_main;
  DM_MPI(MPI_Query_thread(&provided));
  if (provided < MPI_THREAD_FUNNELED)
    return dm_hint(dm_fail(DM_E_MPI, "MPI was initialised without thread support"),
                   "call MPI_Init_thread with MPI_THREAD_FUNNELED or higher");
  if (provided >= MPI_THREAD_SERIALIZED) return DM_OK;
  DM_MPI(MPI_Is_thread_main(&is_main));
  return is_main ? DM_OK
                 : dm_hint(dm_fail(DM_E_USAGE, "this thread may not call MPI"),
                           "the thread that started MPI makes all calls, unless MPI_Init_thread "
                           "provided MPI_THREAD_SERIALIZED");
}

dm_status dm_comm_usable(const dm_comm *comm) {
  if (dm_comm_is_alone(comm)) return DM_OK;
  DM_TRY(check_started());
  return check_thread();
}

/* MPI reports an invalid communicator to the error handler of one of these, which ends the program
 * unless it is replaced meanwhile. */
typedef struct quiet {
  MPI_Errhandler world, self;
} quiet;

static dm_status quiet_begin(quiet *q) {
  DM_MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &q->world));
  DM_MPI(MPI_Comm_get_errhandler(MPI_COMM_SELF, &q->self));
  DM_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  DM_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  return DM_OK;
}

static void put_back(MPI_Comm comm, MPI_Errhandler handler) {
  (void)MPI_Comm_set_errhandler(comm, handler);
  if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN)
    (void)MPI_Errhandler_free(&handler);
}

static dm_status check_communicator(MPI_Comm mpi) {
  int ranks, is_inter = 0;
  quiet q;
  DM_TRY(quiet_begin(&q));
  const bool is_one = MPI_Comm_size(mpi, &ranks) == MPI_SUCCESS &&
                      MPI_Comm_test_inter(mpi, &is_inter) == MPI_SUCCESS;
  put_back(MPI_COMM_SELF, q.self);
  put_back(MPI_COMM_WORLD, q.world);
  if (!is_one) return dm_fail(DM_E_USAGE, "this is not a communicator");
  return is_inter ? dm_fail(DM_E_USAGE, "intercommunicators are not supported") : DM_OK;
}

dm_status dm_comm_of_fortran(int handle, MPI_Comm *mpi) {
  *mpi = MPI_COMM_NULL;
  if (handle == -1) return DM_OK;
  DM_TRY(check_started());
  if (handle >= 0) *mpi = MPI_Comm_f2c(handle);
  return *mpi != MPI_COMM_NULL ? DM_OK
                               : dm_hint(dm_fail(DM_E_USAGE, "%d is no communicator", handle),
                                         "-1 is a single process");
}

dm_status dm_comm_adopt(MPI_Comm mpi, dm_comm **world) {
  dm_comm *comm;
  MPI_Comm own;
  if (mpi == MPI_COMM_NULL) return take_alone(world);
  DM_TRY(check_started());
  DM_TRY(check_thread());
  DM_TRY(check_communicator(mpi));
  DM_MPI(MPI_Comm_dup(mpi, &own));
  DM_TRY(allocate(&comm));
  DM_TRY(wrap(own, comm, world));
  return refuse_old_library();
}

void dm_comm_stop(dm_comm *world) {
  const bool started = !dm_comm_is_alone(world);
  dm_comm_free(world);
  if (started) MPI_Finalize(); /* its result does not matter: the program ends here */
}

bool dm_comm_ignores_gpus(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 0;
#else
  return false;
#endif
}

void dm_comm_abort(dm_comm *world, int code) {
  const MPI_Comm all = world ? world->mpi : MPI_COMM_WORLD;
  if (all != MPI_COMM_NULL) MPI_Abort(all, code);
  _Exit(code);
}

static int first_number(const char *const *names) {
  for (; *names; names++)
    if (number_of(*names) >= 0) return number_of(*names);
  return -1;
}

int dm_comm_rank_before_start(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                      "SLURM_PROCID", NULL};
  return first_number(names);
}

static int ranks_before_start(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
  return first_number(names);
}

int dm_comm_size_before_start(void) {
  const int tasks = number_of("SLURM_STEP_NUM_TASKS"), ranks = ranks_before_start();
  return ranks > 0 ? ranks : tasks > 0 ? tasks : 1;
}

int dm_comm_local_rank_before_start(bool *only) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "SLURM_LOCALID", NULL};
  *only = ranks_before_start() == 1;
  return nobody_started() ? -1 : first_number(names);
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

/* Fails on all members of COMM if one has no memory. */
static dm_status allocate_together(const dm_comm *comm, dm_comm **new) {
  dm_status status = dm_comm_agree(comm, allocate(new));
  if (!status) return DM_OK;
  status->agreed = false; /* COMM may be a part of the job */
  free(*new);
  return status;
}

bool dm_comm_is_alone(const dm_comm *comm) {
  return comm->mpi == MPI_COMM_NULL;
}

static dm_status split_alone(const dm_comm *comm, dm_comm **out) {
  DM_TRY(allocate(out));
  **out = *comm;
  return DM_OK;
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
  if (dm_comm_is_alone(comm)) return color < 0 ? DM_OK : split_alone(comm, out);
  DM_TRY(allocate_together(comm, &new));
  DM_MPI(MPI_Comm_split(comm->mpi, color < 0 ? MPI_UNDEFINED : color, key, &mpi));
  if (mpi != MPI_COMM_NULL) return split_off(comm, mpi, new, out);
  free(new);
  return DM_OK;
}

dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out) {
  MPI_Comm mpi;
  dm_comm *new;
  if (dm_comm_is_alone(comm)) return split_alone(comm, out);
  DM_TRY(allocate_together(comm, &new));
  DM_MPI(MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &mpi));
  return split_off(comm, mpi, new, out);
}

void dm_comm_free(dm_comm *comm) {
  int ended = 0;
  if (!comm) return;
  if (!dm_comm_is_alone(comm) && MPI_Finalized(&ended) == MPI_SUCCESS && !ended)
    MPI_Comm_free(&comm->mpi);
  free(comm);
}
