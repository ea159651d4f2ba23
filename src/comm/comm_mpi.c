#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm_impl.h"
#include "comm/comm_mpi.h"

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

_Static_assert(MPI_MAX_PROCESSOR_NAME <= DM_HOST_NAME, "names of hosts fit");
_Static_assert(sizeof(MPI_Comm) <= sizeof(uint64_t), "communicators fit");
_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "requests fit");

static const dm_comm_ops mpi_ops;

/* DM_OK, or an error with MPI's text for CODE. */
static dm_status comm_mpi_check(int code, const char *what) {
  if (code == MPI_SUCCESS) return DM_OK;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  const char *end = strchr(what, '(');
  return dm_fail(DM_E_MPI, "%.*s failed: %.*s", (int)(end ? end - what : 0), what, length, text);
}

/* Returns from the calling function if an MPI call fails. */
#define DM_MPI(call) DM_TRY(comm_mpi_check((call), #call))

/* ---- handles ---- */

static MPI_Comm mpi_of(const dm_comm *comm) {
  MPI_Comm mpi;
  memcpy(&mpi, &comm->word, sizeof mpi);
  return mpi;
}

static MPI_Request comm_mpi_request_of(const dm_comm_request *request) {
  MPI_Request mpi;
  memcpy(&mpi, &request->word, sizeof mpi);
  return mpi;
}

/* A request that MPI may have completed. */
static void comm_mpi_keep(dm_comm_request *request, MPI_Request mpi) {
  memcpy(&request->word, &mpi, sizeof mpi);
  request->ops = mpi == MPI_REQUEST_NULL ? NULL : &mpi_ops;
}

/* Makes COMM of MPI. */
static dm_status wrap(MPI_Comm mpi, dm_comm *comm) {
  int length;
  memcpy(&comm->word, &mpi, sizeof mpi);
  comm->ops = &mpi_ops;
  DM_MPI(MPI_Comm_set_errhandler(mpi, MPI_ERRORS_RETURN));
  DM_MPI(MPI_Comm_rank(mpi, &comm->rank));
  DM_MPI(MPI_Comm_size(mpi, &comm->size));
  DM_MPI(MPI_Get_processor_name(comm->host, &length));
  return DM_OK;
}

static dm_status wrap_new(MPI_Comm mpi, dm_comm **world) {
  dm_comm *comm;
  DM_TRY(dm_comm_allocate(&comm));
  dm_status status = wrap(mpi, comm);
  if (status)
    free(comm);
  else
    *world = comm;
  return status;
}

/* ---- start ---- */

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

/* With the launcher of another MPI, each rank starts as a job of one rank. */
static dm_status refuse_singletons(const dm_comm *world, int rank) {
  if (world->size > 1) return DM_OK;
  return dm_hint(dm_launched_apart(rank),
                 "start damier with the mpirun or srun --mpi=... of the MPI that it was built "
                 "with, which damier info names; without a launcher, unset the variable");
}

static dm_status take_world(int rank, dm_comm **world) {
  MPI_Comm mpi;
  DM_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &mpi));
  DM_TRY(wrap_new(mpi, world));
  DM_TRY(refuse_old_library());
  return refuse_singletons(*world, rank);
}

/* Open MPI spends 0.2 s probing networks, which ranks of one node do not need. A user's own choice
 * has precedence; if the variable cannot be set, only time is lost. */
static void avoid_network(void) {
  int major, minor, patch;
  const int ranks = dm_launched_number("OMPI_COMM_WORLD_SIZE");
  if (ranks <= 0 || ranks != dm_launched_number("OMPI_COMM_WORLD_LOCAL_SIZE") ||
      getenv("OMPI_MCA_pml") || getenv("OMPI_MCA_btl") || !is_open_mpi(&major, &minor, &patch))
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
  const int rank = dm_launched_rank();
  int provided;
  hide_missing_sysfs();
  DM_TRY(dm_launched_unconnected());
  if (dm_launched_by_nobody()) {
    DM_TRY(dm_comm_take_alone(world));
    return refuse_singletons(*world, rank);
  }
  avoid_network();
  DM_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED)
    return dm_fail(DM_E_MPI, "this MPI does not offer MPI_THREAD_FUNNELED");
  return take_world(rank, world);
}

dm_status dm_comm_start_single(dm_comm **world) {
  const int rank = dm_launched_rank();
  DM_MPI(MPI_Init(NULL, NULL));
  return take_world(rank, world);
}

/* ---- adoption ---- */

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

static dm_status comm_mpi_usable(void) {
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

dm_status dm_comm_adopt(MPI_Comm mpi, dm_comm **world) {
  MPI_Comm own;
  if (mpi == MPI_COMM_NULL) return dm_comm_take_alone(world);
  DM_TRY(comm_mpi_usable());
  DM_TRY(check_communicator(mpi));
  DM_MPI(MPI_Comm_dup(mpi, &own));
  DM_TRY(wrap_new(own, world));
  return refuse_old_library();
}

dm_status dm_comm_adopt_fortran(int handle, dm_comm **world) {
  MPI_Comm mpi = MPI_COMM_NULL;
  if (handle == -1) return dm_comm_take_alone(world);
  DM_TRY(check_started());
  if (handle >= 0) mpi = MPI_Comm_f2c(handle);
  return mpi != MPI_COMM_NULL ? dm_comm_adopt(mpi, world)
                              : dm_hint(dm_fail(DM_E_USAGE, "%d is not a communicator", handle),
                                        "-1 is a single process");
}

/* ---- end ---- */

static void comm_mpi_stop(void) {
  MPI_Finalize(); /* its result does not matter: the program ends here */
}

static void abort_all(const dm_comm *world, int code) {
  MPI_Abort(mpi_of(world), code);
}

static void comm_mpi_release(dm_comm *comm) {
  int ended = 0;
  MPI_Comm mpi = mpi_of(comm);
  if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Comm_free(&mpi);
}

bool dm_comm_ignores_gpus(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 0;
#else
  return false;
#endif
}

/* Whether the library, of this VERSION, says that it sends GPU memory. Several have the function,
 * in headers of their own, and the one that is loaded need not be the one that was there at the
 * build. Only Open MPI is asked: that of MPICH ends a process that has not started MPI. */
static bool comm_mpi_sends_gpu_memory(const char *version) {
  int (*query)(void);
  if (!strstr(version, "Open MPI")) return false;
  *(void **)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  return query && query() == 1;
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
  snprintf(text, (size_t)size, "%s%s%s%s", version, *number ? " " : "", number,
           comm_mpi_sends_gpu_memory(version) ? ", CUDA-aware" : "");
}

/* ---- messages ---- */

static dm_status comm_mpi_post(const dm_comm *comm, dm_way way, void *data, int bytes, int peer,
                               int tag, dm_comm_request *request) {
  MPI_Request mpi;
  if (way == DM_SEND)
    DM_MPI(MPI_Isend(data, bytes, MPI_BYTE, peer, tag, mpi_of(comm), &mpi));
  else
    DM_MPI(MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, mpi_of(comm), &mpi));
  comm_mpi_keep(request, mpi);
  return DM_OK;
}

static dm_status comm_mpi_test(dm_comm_request *request) {
  int done = 0;
  MPI_Request mpi = comm_mpi_request_of(request);
  DM_MPI(MPI_Test(&mpi, &done, MPI_STATUS_IGNORE));
  comm_mpi_keep(request, mpi);
  if (done) request->ops = NULL;
  return DM_OK;
}

static dm_status comm_mpi_wait(dm_comm_request *request) {
  MPI_Request mpi = comm_mpi_request_of(request);
  DM_MPI(MPI_Wait(&mpi, MPI_STATUS_IGNORE));
  request->ops = NULL;
  return DM_OK;
}

/* ---- collectives ---- */

/* Returns from the calling function. The plain, blocking form is faster in every MPI. */
#define DM_EITHER(plain, begun, ...)                                                               \
  do {                                                                                             \
    MPI_Request mpi;                                                                               \
    if (!request) return comm_mpi_check(plain(__VA_ARGS__), #plain "(");                           \
    DM_MPI(begun(__VA_ARGS__, &mpi));                                                              \
    comm_mpi_keep(request, mpi);                                                                   \
    return DM_OK;                                                                                  \
  } while (0)

static dm_status comm_mpi_combine(const dm_comm *comm, const dm_collective *c,
                                  dm_comm_request *request) {
  const MPI_Datatype type = c->what == (int)DM_SUM_U64   ? MPI_UINT64_T
                            : c->what == (int)DM_MAX_I64 ? MPI_INT64_T
                                                         : MPI_DOUBLE;
  const bool sums = c->what == (int)DM_SUM_F64 || c->what == (int)DM_SUM_U64;
  DM_EITHER(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, c->out, c->size, type,
            sums ? MPI_SUM : MPI_MAX, mpi_of(comm));
}

static dm_status comm_mpi_collect(const dm_comm *comm, const dm_collective *c,
                                  dm_comm_request *request) {
  const MPI_Comm all = mpi_of(comm);
  switch (c->purpose) {
  case DM_BARRIER:
    DM_EITHER(MPI_Barrier, MPI_Ibarrier, all);
  case DM_BROADCAST:
    DM_EITHER(MPI_Bcast, MPI_Ibcast, c->out, c->size, MPI_BYTE, c->what, all);
  case DM_GATHER:
    DM_EITHER(MPI_Gather, MPI_Igather, c->in, c->size, MPI_BYTE, c->out, c->size, MPI_BYTE, c->what,
              all);
  case DM_COMBINE:
    return comm_mpi_combine(comm, c, request);
  case DM_SPLIT:
    break;
  }
  return dm_fail(DM_E_BUG, "a split is no collective");
}

/* ---- parts ---- */

static dm_status comm_mpi_split(const dm_comm *comm, int color, int key, dm_comm *new,
                                bool *member) {
  MPI_Comm mpi;
  if (color == DM_OF_NODE)
    DM_MPI(MPI_Comm_split_type(mpi_of(comm), MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &mpi));
  else
    DM_MPI(MPI_Comm_split(mpi_of(comm), color < 0 ? MPI_UNDEFINED : color, key, &mpi));
  *member = mpi != MPI_COMM_NULL;
  return *member ? wrap(mpi, new) : DM_OK;
}

static const dm_comm_ops mpi_ops = {
    .usable = comm_mpi_usable,
    .post = comm_mpi_post,
    .collect = comm_mpi_collect,
    .test = comm_mpi_test,
    .wait = comm_mpi_wait,
    .split = comm_mpi_split,
    .release = comm_mpi_release,
    .stop = comm_mpi_stop,
    .abort = abort_all,
};
