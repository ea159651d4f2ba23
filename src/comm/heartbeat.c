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
  dm_request answering;
  atomic_int heard;
} member;

struct dm_heartbeat {
  dm_comm *comm;
  dm_request receiving, sending;
  int64_t received, sent_moves;
  bool asked; /* not rank 0: waits for an answer */
  int64_t job;
  int departed;
  char (*hosts)[DM_HOST_NAME];
  dm_request ending;
  dm_ending heard, sent;
  member members[]; /* used on rank 0 */
};

static dm_status listen(dm_heartbeat *heartbeat, int tag) {
  const dm_comm *comm = heartbeat->comm;
  const int speaker = comm->rank == 0 ? DM_ANY_RANK : 0;
  if (tag == END_TAG)
    return comm->ops->post(comm, DM_RECEIVE, &heartbeat->heard, sizeof heartbeat->heard, speaker,
                           tag, &heartbeat->ending);
  return comm->ops->post(comm, DM_RECEIVE, &heartbeat->received, sizeof heartbeat->received,
                         speaker, tag, &heartbeat->receiving);
}

dm_status dm_heartbeat_open(const dm_comm *world, dm_heartbeat **out) {
  const size_t ranks = (size_t)world->size;
  dm_heartbeat *heartbeat = calloc(1, sizeof *heartbeat + ranks * sizeof *heartbeat->members);
  char(*hosts)[DM_HOST_NAME] = calloc(ranks, sizeof *hosts);
  const bool failed = !heartbeat || !hosts;
  DM_TRY(dm_comm_agree(world, failed ? dm_fail(DM_E_FIT, "no memory for the heartbeat") : DM_OK));
  heartbeat->hosts = hosts;
  DM_TRY(dm_comm_split(world, 0, world->rank, &heartbeat->comm));
  DM_TRY(dm_comm_allgather(world, world->host, sizeof world->host, hosts));
  *out = heartbeat;
  if (world->size == 1) return DM_OK; /* there are no messages */
  if (heartbeat->comm->rank == 0) DM_TRY(listen(heartbeat, MOVES_TAG));
  return listen(heartbeat, END_TAG);
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
  DM_TRY(dm_comm_wait_all(&m->answering, 1)); /* RANK has received it: returns at once */
  m->answer = heartbeat->job;
  const dm_comm *comm = heartbeat->comm;
  return comm->ops->post(comm, DM_SEND, &m->answer, sizeof m->answer, rank, MOVES_TAG,
                         &m->answering);
}

static dm_status hear(dm_heartbeat *heartbeat, int now) {
  for (;;) {
    int from;
    if (!heartbeat->receiving.ops) return DM_OK;
    DM_TRY(heartbeat->receiving.ops->test(&heartbeat->receiving, &from));
    if (heartbeat->receiving.ops) return DM_OK;
    if (heartbeat->comm->rank != 0) {
      heartbeat->job = heartbeat->received;
      heartbeat->asked = false;
      return DM_OK;
    }
    DM_TRY(take(heartbeat, from, now));
    if (heartbeat->departed == heartbeat->comm->size - 1) return DM_OK;
    DM_TRY(listen(heartbeat, MOVES_TAG));
  }
}

static dm_status send_moves(dm_heartbeat *heartbeat, int64_t value) {
  const dm_comm *comm = heartbeat->comm;
  DM_TRY(dm_comm_wait_all(&heartbeat->sending, 1)); /* rank 0 has answered: returns at once */
  heartbeat->sent_moves = value;
  if (value != GOODBYE) DM_TRY(listen(heartbeat, MOVES_TAG));
  heartbeat->asked = value != GOODBYE;
  return comm->ops->post(comm, DM_SEND, &heartbeat->sent_moves, sizeof heartbeat->sent_moves, 0,
                         MOVES_TAG, &heartbeat->sending);
}

dm_status dm_heartbeat_poll(dm_heartbeat *heartbeat, int now, bool sends, int64_t mine,
                            int64_t *job, dm_ending *ending) {
  bool arrived; /* of an ending */
  if (heartbeat->comm->rank == 0) {
    heartbeat->job += mine - heartbeat->members[0].moves;
    heartbeat->members[0].moves = mine;
    atomic_store(&heartbeat->members[0].heard, now);
  }
  *job = heartbeat->job;
  if (heartbeat->comm->size == 1) return DM_OK;
  DM_TRY(dm_comm_test_all(&heartbeat->ending, 1, &arrived));
  if (arrived) *ending = heartbeat->heard;
  DM_TRY(hear(heartbeat, now));
  if (sends && heartbeat->comm->rank != 0 && !heartbeat->asked) DM_TRY(send_moves(heartbeat, mine));
  *job = heartbeat->job;
  return DM_OK;
}

dm_status dm_heartbeat_send_ending(dm_heartbeat *heartbeat, const dm_ending *ending) {
  const dm_comm *comm = heartbeat->comm;
  heartbeat->sent = *ending;
  int first = comm->rank == 0 ? 1 : 0, last = comm->rank == 0 ? comm->size - 1 : 0;
  for (int rank = first; rank <= last; rank++) {
    dm_request request;
    DM_TRY(comm->ops->post(comm, DM_SEND, &heartbeat->sent, sizeof heartbeat->sent, rank, END_TAG,
                           &request));
    if (request.ops) DM_TRY(request.ops->let_go(&request)); /* silent ranks may never receive it */
  }
  return DM_OK;
}

int dm_heartbeat_elsewhere(const dm_heartbeat *heartbeat) {
  for (int rank = 1; rank < heartbeat->comm->size; rank++)
    if (strcmp(heartbeat->hosts[rank], heartbeat->hosts[0]) != 0) return rank;
  return 0;
}

int dm_heartbeat_heard(const dm_heartbeat *heartbeat, int rank) {
  return atomic_load(&heartbeat->members[rank].heard);
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
      DM_TRY(dm_comm_wait_all(&heartbeat->members[i].answering, 1));
    return DM_OK;
  }
  while (heartbeat->asked) DM_TRY(hear(heartbeat, 0));
  DM_TRY(send_moves(heartbeat, GOODBYE));
  return dm_comm_wait_all(&heartbeat->sending, 1);
}

static void stop_listening(dm_request *request) {
  if (request->ops) request->ops->cancel(request);
}

void dm_heartbeat_close(dm_heartbeat *heartbeat) {
  if (!heartbeat) return;
  dm_status_free(say_goodbye(heartbeat));
  stop_listening(&heartbeat->receiving);
  stop_listening(&heartbeat->ending);
  dm_comm_free(heartbeat->comm);
  free(heartbeat->hosts);
  free(heartbeat);
}
