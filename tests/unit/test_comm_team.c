/* A rank of a team that cannot go on: what the others wait for fails, too. */
#include <stdatomic.h>
#include <string.h>

#include "checks.h"
#include "comm/team.h"

enum { RANKS = 3, WAYS = 3 };

typedef struct outcome {
  int way;
  atomic_int failed;
} outcome;

/* The last rank comes to none of these. */
static dm_status wait_for_all(dm_comm *world, int way) {
  double sum = 1;
  if (way == 0) return dm_comm_barrier(world);
  if (way == 1) return dm_comm_sum_f64(world, &sum, 1);
  dm_messages *messages;
  DM_TRY(dm_messages_new(&messages));
  dm_status status = dm_messages_receive(messages, world, &sum, sizeof sum, RANKS - 1, 7);
  if (!status) status = dm_messages_wait(messages);
  dm_messages_free(messages);
  return status;
}

/* Only the first reason counts. */
static void break_for_good(const dm_comm *comm) {
  dm_status why = dm_fail(DM_E_FIT, "the first reason"), later = dm_fail(DM_E_BUG, "a later one");
  dm_team_break(comm, why);
  dm_team_break(comm, later);
  dm_status_free(why);
  dm_status_free(later);
}

static bool is_the_reason(const dm_error *error) {
  return error->code == DM_E_FIT && strcmp(error->message, "the first reason") == 0;
}

static void play(dm_comm *world, void *context) {
  outcome *o = context;
  dm_comm *part = NULL;
  dm_status status = dm_comm_split(world, 0, dm_comm_rank(world), &part);
  if (!status && dm_comm_rank(world) == RANKS - 1)
    break_for_good(part);
  else if (!status)
    status = wait_for_all(part, o->way);
  if (status && is_the_reason(status)) atomic_fetch_add(&o->failed, 1);
  dm_status_free(status);
  status = dm_comm_barrier(world); /* of a broken team */
  if (status && is_the_reason(status)) atomic_fetch_add(&o->failed, 1);
  dm_status_free(status);
  dm_comm_free(part);
  dm_comm_free(world);
}

TEST(test_broken_team) {
  for (int way = 0; way < WAYS; way++) {
    outcome o = {.way = way};
    assert_null(dm_team_run(RANKS, play, &o));
    assert_int_equal(o.failed, 2 * RANKS - 1);
  }
}

RUN_ALL(test_comm_team)
