/* The groups of a team: its ranks, and those of communicators that were split off. */
#include <stdio.h>
#include <stdlib.h>

#include "comm/team_impl.h"

dm_team_group *dm_group_new(int size, dm_fate *fate, const dm_comm_ops *ops) {
  dm_team_group *group = calloc(1, sizeof *group);
  if (!group) return NULL;
  group->fate = fate;
  group->ops = ops;
  atomic_fetch_add(&fate->groups, 1);
  group->size = group->members = size;
  pthread_mutex_init(&group->lock, NULL);
  pthread_cond_init(&group->changed, NULL);
  return group;
}

dm_status dm_group_broken(const dm_team_group *group) {
  return dm_status_copy(&group->fate->why);
}

void dm_group_break(dm_fate *fate, const dm_error *why) {
  if (atomic_flag_test_and_set(&fate->taken)) return;
  fate->why = *why;
  atomic_store(&fate->broken, true);
}

dm_status dm_group_no_memory(dm_team_group *group) {
  dm_status status = dm_fail(DM_E_FIT, "no memory for a message");
  dm_group_break(group->fate, status);
  return status;
}

bool dm_group_join(dm_team_group *group, int rank, const char *host, dm_comm *comm) {
  dm_member *member = calloc(1, sizeof *member);
  if (!member) return false;
  member->group = group;
  comm->ops = group->ops;
  comm->word = (uint64_t)(uintptr_t)member;
  comm->rank = rank;
  comm->size = group->size;
  if (host) snprintf(comm->host, sizeof comm->host, "%s", host);
  return true;
}
