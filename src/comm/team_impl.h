/* team_impl: shared by the files of teams. */
#ifndef DM_COMM_TEAM_IMPL_H
#define DM_COMM_TEAM_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "comm/comm_impl.h"
#include "comm/team.h"

/* One side of a message. */
typedef struct dm_letter {
  struct dm_letter *next;
  struct dm_team_group *group;
  bool sent, let_go; /* else received; nobody asks for it any more: freed when it is done */
  int from, to, tag;
  void *data; /* only read if it is sent */
  int bytes;
  bool cut; /* longer than the receiver's memory */
  atomic_bool done;
} dm_letter;

/* A collective operation: the last rank to arrive does the work of all. */
typedef struct dm_meeting {
  struct dm_meeting *next;
  struct dm_team_group *group;
  uint64_t number;  /* of the group's meetings, in each rank's order */
  dm_collective of; /* without memory */
  int arrived, left;
  bool given_up;  /* some rank has left without it */
  dm_code failed; /* or 0 */
  atomic_bool done;
  dm_collective guests[];
} dm_meeting;

/* Shared by all groups of a team. */
typedef struct dm_fate {
  atomic_flag taken;  /* some rank has broken the team, */
  atomic_bool broken; /* and WHY is complete */
  dm_error why;
  atomic_int groups;
} dm_fate;

/* The ranks of a communicator. */
typedef struct dm_team_group {
  dm_fate *fate;
  int size, members; /* members that have not released it */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* something is done */
  dm_letter *letters;     /* without their other side, oldest first */
  dm_meeting *meetings;
  const dm_comm_ops *ops; /* of its communicators */
} dm_team_group;

/* One rank's place in a group: the word of its communicator. */
typedef struct dm_member {
  dm_team_group *group;
  uint64_t meetings; /* number of those it has begun */
} dm_member;

static inline dm_member *dm_member_of(const dm_comm *comm) {
  return (dm_member *)(uintptr_t)comm->word;
}

/* A group of SIZE members, whose communicators have OPS; NULL: no memory. */
dm_team_group *dm_group_new(int size, dm_fate *fate, const dm_comm_ops *ops);

/* The outcome of an operation that a broken team does not finish. */
dm_status dm_group_broken(const dm_team_group *group);

/* Breaks the team because of WHY, unless it is broken. */
void dm_group_break(dm_fate *fate, const dm_error *why);

/* Breaks the team: a rank that has no memory for an operation would leave the others waiting. */
dm_status dm_group_no_memory(dm_team_group *group);

/* Makes COMM rank RANK of GROUP; false: no memory. */
bool dm_group_join(dm_team_group *group, int rank, const char *host, dm_comm *comm);

/* ---- meetings (team_meetings.c) ---- */

void dm_meetings_free(dm_team_group *group);

/* The COLLECT of dm_comm_ops, and DM_SPLIT. */
dm_status dm_meeting_begin(const dm_comm *comm, const dm_collective *mine,
                           dm_comm_request *request);
dm_status dm_meeting_test(dm_comm_request *request);

/* What a rank brings to a meeting for DM_SPLIT; its OUT is the new dm_comm. */
typedef struct dm_wish {
  int color, key;
} dm_wish;

/* Requests of letters and meetings: the lowest bit of a meeting's word is set. */
static inline bool dm_request_meets(const dm_comm_request *request) {
  return request->word & 1;
}

#endif
