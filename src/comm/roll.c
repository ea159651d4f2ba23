#include "comm/roll.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm_impl.h"

enum { GOODBYE = -1 }; /* in place of what was done */
enum { MOVES_TAG = 0, END_TAG = 1 };

typedef struct member {
  int64_t moves, answer; /* told by it; to it */
  MPI_Request answering;
  atomic_int heard;
} member;

struct dm_roll {
  dm_comm *comm;
  MPI_Request receiving, telling;
  int64_t received, told;
  bool asked; /* not rank 0: an answer is still to come */
  int64_t job;
  int departed;
  member *members;                       /* on rank 0 only */
  char (*hosts)[MPI_MAX_PROCESSOR_NAME]; /* of all on rank 0, else of rank 0 */
  MPI_Request ending;
  dm_ending heard, sent;
};

static dm_status listen(dm_roll *roll) {
  int from = roll->comm->rank == 0 ? MPI_ANY_SOURCE : 0;
  DM_MPI(MPI_Irecv(&roll->received, 1, MPI_INT64_T, from, MOVES_TAG, roll->comm->mpi,
                   &roll->receiving));
  return DM_OK;
}

static dm_status listen_for_end(dm_roll *roll) {
  int from = roll->comm->rank == 0 ? MPI_ANY_SOURCE : 0;
  DM_MPI(MPI_Irecv(&roll->heard, sizeof roll->heard, MPI_BYTE, from, END_TAG, roll->comm->mpi,
                   &roll->ending));
  return DM_OK;
}

static dm_status learn_hosts(dm_roll *roll) {
  const dm_comm *comm = roll->comm;
  int count = comm->rank == 0 ? comm->size : 1;
  roll->hosts = calloc((size_t)count, sizeof *roll->hosts);
  if (comm->rank == 0) roll->members = calloc((size_t)comm->size, sizeof *roll->members);
  bool failed = !roll->hosts || (comm->rank == 0 && !roll->members);
  DM_TRY(dm_comm_agree(comm, failed ? dm_fail(DM_E_FIT, "no memory for the roll") : DM_OK));
  for (int i = 0; roll->members && i < comm->size; i++) {
    roll->members[i].answering = MPI_REQUEST_NULL;
    atomic_init(&roll->members[i].heard, 0);
  }
  DM_TRY(dm_comm_gather(comm, comm->host, sizeof comm->host, roll->hosts, 0));
  return dm_comm_broadcast(comm, roll->hosts, sizeof *roll->hosts, 0);
}

dm_status dm_roll_open(const dm_comm *world, dm_roll **out) {
  dm_roll *roll = calloc(1, sizeof *roll);
  dm_status status = roll ? DM_OK : dm_fail(DM_E_FIT, "no memory for the roll");
  DM_TRY(dm_comm_agree(world, status));
  roll->receiving = roll->telling = roll->ending = MPI_REQUEST_NULL;
  DM_TRY(dm_comm_split(world, 0, world->rank, &roll->comm));
  DM_TRY(learn_hosts(roll));
  if (roll->comm->rank == 0) DM_TRY(listen(roll));
  DM_TRY(listen_for_end(roll));
  *out = roll;
  return DM_OK;
}

/* Rank 0: takes what RANK told, and answers. */
static dm_status take(dm_roll *roll, int rank, int now) {
  member *m = &roll->members[rank];
  if (roll->received == GOODBYE) {
    atomic_store(&m->heard, INT_MAX);
    roll->departed++;
    return DM_OK;
  }
  roll->job += roll->received - m->moves;
  m->moves = roll->received;
  atomic_store(&m->heard, now);
  DM_MPI(MPI_Wait(&m->answering, MPI_STATUS_IGNORE)); /* at once: RANK has it, or it asked never */
  m->answer = roll->job;
  DM_MPI(MPI_Isend(&m->answer, 1, MPI_INT64_T, rank, MOVES_TAG, roll->comm->mpi, &m->answering));
  return DM_OK;
}

static dm_status hear(dm_roll *roll, int now) {
  for (;;) {
    int arrived = 0;
    MPI_Status from;
    if (roll->receiving == MPI_REQUEST_NULL) return DM_OK;
    DM_MPI(MPI_Test(&roll->receiving, &arrived, &from));
    if (!arrived) return DM_OK;
    if (roll->comm->rank != 0) {
      roll->job = roll->received;
      roll->asked = false;
      return DM_OK;
    }
    DM_TRY(take(roll, from.MPI_SOURCE, now));
    if (roll->departed == roll->comm->size - 1) return DM_OK;
    DM_TRY(listen(roll));
  }
}

static dm_status tell(dm_roll *roll, int64_t value) {
  DM_MPI(MPI_Wait(&roll->telling, MPI_STATUS_IGNORE)); /* at once: it was answered */
  roll->told = value;
  if (value != GOODBYE) DM_TRY(listen(roll));
  roll->asked = value != GOODBYE;
  DM_MPI(MPI_Isend(&roll->told, 1, MPI_INT64_T, 0, MOVES_TAG, roll->comm->mpi, &roll->telling));
  return DM_OK;
}

dm_status dm_roll_poll(dm_roll *roll, int now, bool tells, int64_t mine, int64_t *job) {
  if (roll->comm->rank == 0) {
    roll->job += mine - roll->members[0].moves;
    roll->members[0].moves = mine;
    atomic_store(&roll->members[0].heard, now);
  }
  int arrived; /* what arrived stays until it is asked for: its request is null from then on */
  DM_MPI(MPI_Test(&roll->ending, &arrived, MPI_STATUS_IGNORE));
  DM_TRY(hear(roll, now));
  if (tells && roll->comm->rank != 0 && !roll->asked) DM_TRY(tell(roll, mine));
  *job = roll->job;
  return DM_OK;
}

dm_status dm_roll_tell(dm_roll *roll, const dm_ending *ending) {
  const dm_comm *comm = roll->comm;
  roll->sent = *ending;
  int first = comm->rank == 0 ? 1 : 0, last = comm->rank == 0 ? comm->size - 1 : 0;
  for (int rank = first; rank <= last; rank++) {
    MPI_Request request;
    DM_MPI(MPI_Isend(&roll->sent, sizeof roll->sent, MPI_BYTE, rank, END_TAG, comm->mpi, &request));
    DM_MPI(MPI_Request_free(&request)); /* the silent ones never take it */
  }
  return DM_OK;
}

bool dm_roll_told(const dm_roll *roll, dm_ending *ending) {
  if (roll->ending != MPI_REQUEST_NULL) return false;
  *ending = roll->heard;
  return true;
}

int dm_roll_elsewhere(const dm_roll *roll) {
  for (int rank = 1; roll->members && rank < roll->comm->size; rank++)
    if (strcmp(roll->hosts[rank], roll->hosts[0]) != 0) return rank;
  return 0;
}

int dm_roll_heard(const dm_roll *roll, int rank) {
  return roll->members ? atomic_load(&roll->members[rank].heard) : 0;
}

const char *dm_roll_host(const dm_roll *roll, int rank) {
  return roll->hosts[rank];
}

/* What goes wrong here is not worth a word: the job is done. */
static dm_status say_goodbye(dm_roll *roll) {
  const dm_comm *comm = roll->comm;
  if (comm->rank == 0) {
    while (roll->departed < comm->size - 1) DM_TRY(hear(roll, 0));
    for (int i = 0; i < comm->size; i++)
      DM_MPI(MPI_Wait(&roll->members[i].answering, MPI_STATUS_IGNORE));
    return DM_OK;
  }
  while (roll->asked) DM_TRY(hear(roll, 0));
  DM_TRY(tell(roll, GOODBYE));
  DM_MPI(MPI_Wait(&roll->telling, MPI_STATUS_IGNORE));
  return DM_OK;
}

static void stop_listening(MPI_Request *request) {
  if (*request == MPI_REQUEST_NULL) return;
  MPI_Cancel(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

void dm_roll_close(dm_roll *roll) {
  if (!roll) return;
  dm_status_free(say_goodbye(roll));
  stop_listening(&roll->receiving); /* a job of one rank still listens to itself */
  stop_listening(&roll->ending);
  dm_comm_free(roll->comm);
  free(roll->members);
  free(roll->hosts);
  free(roll);
}
