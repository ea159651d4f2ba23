/* First example of src/comm: ranks that are threads of this process sum numbers, and agree on the
 * error that one of them has. */
#include "checks.h"
#include "comm/team.h"

enum { RANKS = 3 };

static void work(dm_comm *world, void *context) {
  double *sums = context, sum = 1.0 + dm_comm_rank(world);
  ok(dm_comm_sum_f64(world, &sum, 1));
  sums[dm_comm_rank(world)] = sum;
  dm_status mine = dm_comm_rank(world) == 1 ? dm_fail(DM_E_FIT, "rank 1 has no room") : DM_OK;
  fails(dm_comm_agree(world, mine), DM_E_FIT, "rank 1 has no room");
  dm_comm_free(world);
}

TEST(first_sum_of_all_ranks) {
  double sums[RANKS];
  ok(dm_team_run(RANKS, work, sums));
  for (int r = 0; r < RANKS; r++) assert_true(sums[r] == 6.0);
}

RUN_ALL(test_first_comm)
