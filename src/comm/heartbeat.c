#include "comm/heartbeat.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_impl.h"

enum { GOODBYE = -1 }; /* sent instead of a progress counter */
enum { MOVES_TAG = 0, END_TAG = 1 };

typedef struct member {
  int64_t moves, answer; /* received from it; sent to it */
  MPI_Request answering;
  atomic_int heard;
} member;

struct dm_heartbeat {
  dm_comm *comm;
  MPI_Request receiving, telling;
  int64_t received, told;
  bool asked; /* not rank 0: waits for an answer */
  int64_t job;
  int departed;
  member *members;                       /* only on rank 0 */
  char (*hosts)[MPI_MAX_PROCESSOR_NAME]; /* rank 0: of all ranks, others: of rank 0 */
  MPI_Request ending;
  dm_ending heard, sent;
};

static dm_status listen(dm_heartbeat *heartbeat) {
  int from = heartbeat->comm->rank == 0 ? MPI_ANY_SOURCE : 0;
  DM_MPI(MPI_Irecv(&heartbeat->received, 1, MPI_INT64_T, from, MOVES_TAG, heartbeat->comm->mpi,
                   &heartbeat->receiving));
  return DM_OK;
}

static dm_status listen_for_end(dm_heartbeat *heartbeat) {
  int from = heartbeat->comm->rank == 0 ? MPI_ANY_SOURCE : 0;
  DM_MPI(MPI_Irecv(&heartbeat->heard, sizeof heartbeat->heard, MPI_BYTE, from, END_TAG,
                   heartbeat->comm->mpi, &heartbeat->ending));
  return DM_OK;
}

static dm_status learn_hosts(dm_heartbeat *heartbeat) {
  const dm_comm *comm = heartbeat->comm;
  int count = comm->rank == 0 ? comm->size : 1;
  heartbeat->hosts = calloc((size_t)count, sizeof *heartbeat->hosts);
  if (comm->rank == 0) heartbeat->members = calloc((size_t)comm->size, sizeof *heartbeat->members);
  bool failed = !heartbeat->hosts || (comm->rank == 0 && !heartbeat->members);
  DM_TRY(dm_comm_agree(comm, failed ? dm_fail(DM_E_FIT, "no memory for the heartbeat") : DM_OK));
  for (int i = 0; heartbeat->members && i < comm->size; i++) {
    heartbeat->members[i].answering = MPI_REQUEST_NULL;
    atomic_init(&heartbeat->members[i].heard, 0);
  }
  DM_TRY(dm_comm_gather(comm, comm->host, sizeof comm->host, heartbeat->hosts, 0));
  return dm_comm_broadcast(comm, heartbeat->hosts, sizeof *heartbeat->hosts, 0);
}

dm_status dm_heartbeat_open(const dm_comm *world, dm_heartbeat **out) {
  dm_heartbeat *heartbeat = calloc(1, sizeof *heartbeat);
  dm_status status = heartbeat ? DM_OK : dm_fail(DM_E_FIT, "no memory for the heartbeat");
  DM_TRY(dm_comm_agree(world, status));
  heartbeat->receiving = heartbeat->telling = heartbeat->ending = MPI_REQUEST_NULL;
  DM_TRY(dm_comm_split(world, 0, world->rank, &heartbeat->comm));
  DM_TRY(learn_hosts(heartbeat));
  *out = heartbeat;
  if (world->size == 1) return DM_OK; /* there are no messages */
  if (heartbeat->comm->rank == 0) DM_TRY(listen(heartbeat));
  return listen_for_end(heartbeat);
}

/* Rank 0: processes the counter received from RANK, and answers. */
static dm_status take(dm_heartbeat *heartbeat, int rank, int now) {
  member *m = &heartbeat->members[rank];
  if (heartbeat->received == GOODBYE) {
    atomic_store(&m->heard, INT_MAX);
    heartbeat->departed++;
    return DM_OK;
  }
  heartbeat->job += heartbeat->received - m->moves;
  m->moves = heartbeat->received;
  atomic_store(&m->heard, now);
  DM_MPI(MPI_Wait(&m->answering, MPI_STATUS_IGNORE)); /* RANK has received it: returns at once */
  m->answer = heartbeat->job;
  DM_MPI(
      MPI_Isend(&m->answer, 1, MPI_INT64_T, rank, MOVES_TAG, heartbeat->comm->mpi, &m->answering));
  return DM_OK;
}

static dm_status hear(dm_heartbeat *heartbeat, int now) {
  for (;;) {
    int arrived = 0;
    MPI_Status from;
    if (heartbeat->receiving == MPI_REQUEST_NULL) return DM_OK;
    DM_MPI(MPI_Test(&heartbeat->receiving, &arrived, &from));
    if (!arrived) return DM_OK;
    if (heartbeat->comm->rank != 0) {
      heartbeat->job = heartbeat->received;
      heartbeat->asked = false;
      return DM_OK;
    }
    DM_TRY(take(heartbeat, from.MPI_SOURCE, now));
    if (heartbeat->departed == heartbeat->comm->size - 1) return DM_OK;
    DM_TRY(listen(heartbeat));
  }
}

static dm_status tell(dm_heartbeat *heartbeat, int64_t value) {
  DM_MPI(
      MPI_Wait(&heartbeat->telling, MPI_STATUS_IGNORE)); /* rank 0 has answered: returns at once */
  heartbeat->told = value;
  if (value != GOODBYE) DM_TRY(listen(heartbeat));
  heartbeat->asked = value != GOODBYE;
  DM_MPI(MPI_Isend(&heartbeat->told, 1, MPI_INT64_T, 0, MOVES_TAG, heartbeat->comm->mpi,
                   &heartbeat->telling));
  return DM_OK;
}

dm_status dm_heartbeat_poll(dm_heartbeat *heartbeat, int now, bool tells, int64_t mine,
                            int64_t *job) {
  if (heartbeat->comm->rank == 0) {
    heartbeat->job += mine - heartbeat->members[0].moves;
    heartbeat->members[0].moves = mine;
    atomic_store(&heartbeat->members[0].heard, now);
  }
  *job = heartbeat->job;
  if (heartbeat->comm->size == 1) return DM_OK;
  int arrived; /* unused: dm_heartbeat_told tests for the then null request */
  DM_MPI(MPI_Test(&heartbeat->ending, &arrived, MPI_STATUS_IGNORE));
  DM_TRY(hear(heartbeat, now));
  if (tells && heartbeat->comm->rank != 0 && !heartbeat->asked) DM_TRY(tell(heartbeat, mine));
  *job = heartbeat->job;
  return DM_OK;
}

dm_status dm_heartbeat_tell(dm_heartbeat *heartbeat, const dm_ending *ending) {
  const dm_comm *comm = heartbeat->comm;
  heartbeat->sent = *ending;
  int first = comm->rank == 0 ? 1 : 0, last = comm->rank == 0 ? comm->size - 1 : 0;
  for (int rank = first; rank <= last; rank++) {
    MPI_Request request;
    DM_MPI(MPI_Isend(&heartbeat->sent, sizeof heartbeat->sent, MPI_BYTE, rank, END_TAG, comm->mpi,
                     &request));
    DM_MPI(MPI_Request_free(&request)); /* silent ranks may never receive it */
  }
  return DM_OK;
}

bool dm_heartbeat_told(const dm_heartbeat *heartbeat, dm_ending *ending) {
  if (heartbeat->comm->size == 1 || heartbeat->ending != MPI_REQUEST_NULL) return false;
  *ending = heartbeat->heard;
  return true;
}

int dm_heartbeat_elsewhere(const dm_heartbeat *heartbeat) {
  for (int rank = 1; heartbeat->members && rank < heartbeat->comm->size; rank++)
    if (strcmp(heartbeat->hosts[rank], heartbeat->hosts[0]) != 0) return rank;
  return 0;
}

int dm_heartbeat_heard(const dm_heartbeat *heartbeat, int rank) {
  return heartbeat->members ? atomic_load(&heartbeat->members[rank].heard) : 0;
}

const char *dm_heartbeat_host(const dm_heartbeat *heartbeat, int rank) {
  return heartbeat->hosts[rank];
}

/* Errors are ignored: the job is done. */
static dm_status say_goodbye(dm_heartbeat *heartbeat) {
  const dm_comm *comm = heartbeat->comm;
  if (comm->rank == 0) {
    while (heartbeat->departed < comm->size - 1) DM_TRY(hear(heartbeat, 0));
    for (int i = 1; i < comm->size; i++)
      DM_MPI(MPI_Wait(&heartbeat->members[i].answering, MPI_STATUS_IGNORE));
    return DM_OK;
  }
  while (heartbeat->asked) DM_TRY(hear(heartbeat, 0));
  DM_TRY(tell(heartbeat, GOODBYE));
  DM_MPI(MPI_Wait(&heartbeat->telling, MPI_STATUS_IGNORE));
  return DM_OK;
}

static void stop_listening(MPI_Request *request) {
  if (*request == MPI_REQUEST_NULL) return;
  MPI_Cancel(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

void dm_heartbeat_close(dm_heartbeat *heartbeat) {
  if (!heartbeat) return;
  dm_status_free(say_goodbye(heartbeat));
  stop_listening(&heartbeat->receiving);
  stop_listening(&heartbeat->ending);
  dm_comm_free(heartbeat->comm);
  free(heartbeat->members);
  free(heartbeat->hosts);
  free(heartbeat);
}
