/* ranks: 1 2 3 4 6 8. All ranks return the unchanged error of the lowest rank that failed. */
#include "rank_test.h"

static dm_status error_of(int rank) {
  dm_status status =
      dm_fail((dm_code)(DM_E_USAGE + rank % 5), "rank %d could not: \"%%s\" \xc3\xa9", rank);
  return dm_hint(status, "ask rank %d", rank);
}

/* The ranks whose bit is set in WHO fail. */
static void some_fail(rank_test *t, unsigned who) {
  const int me = t->run.rank;
  dm_status status = dm_comm_agree(t->run.world, who >> me & 1 ? error_of(me) : DM_OK);
  CHECK(t, (status != DM_OK) == (who != 0), "set %x", who);
  if (!status) return;
  const int first = __builtin_ctz(who);
  dm_status want = error_of(first);
  CHECK(t, status->code == want->code && status->agreed, "code %d", (int)status->code);
  CHECK(t, status->rank == first, "rank %d, wanted %d", status->rank, first);
  CHECK(t, status->others == __builtin_popcount(who) - 1, "others %d", status->others);
  CHECK(t, strcmp(status->message, want->message) == 0, "message '%s'", status->message);
  CHECK(t, strcmp(status->hint, want->hint) == 0, "hint '%s'", status->hint);
  CHECK(t, strcmp(status->place, want->place) == 0, "place '%s'", status->place);
  dm_status_free(want);
  dm_status_free(status);
}

/* An error that was already agreed on keeps its rank. */
static void again(rank_test *t) {
  dm_status status =
      dm_comm_agree(t->run.world, t->run.rank == t->run.ranks - 1 ? error_of(3) : DM_OK);
  status = dm_comm_agree(t->run.world, status);
  CHECK(t, status && status->rank == t->run.ranks - 1, "the rank was forgotten");
  dm_status_free(status);
}

/* Sums unless one of WHO fails; -0 and large numbers do not hide a failure. */
static void sum(rank_test *t, unsigned who, bool integers) {
  const bool fails = who >> t->run.rank & 1;
  double real[3] = {0x1p990, -0.0, 0};
  int64_t whole[3] = {INT64_MAX, 1, 0};
  void *values = integers ? (void *)whole : real;
  dm_status status = dm_comm_agree_sum(t->run.world, fails ? error_of(t->run.rank) : DM_OK,
                                       fails ? NULL : values, 2, integers);
  CHECK(t, (status != DM_OK) == (who != 0), "sum, set %x", who);
  if (status) CHECK(t, status->rank == __builtin_ctz(who), "sum, rank %d", status->rank);
  if (!status && integers) CHECK(t, whole[1] == t->run.ranks, "sum %d", (int)whole[1]);
  if (!status && !integers) CHECK(t, real[0] == 0x1p990 * t->run.ranks, "sum %g", real[0]);
  dm_status_free(status);
}

TEST_PROGRAM(test_agree) {
  rank_test test = rank_test_start();
  for (unsigned who = 0; who < 1u << test.run.ranks; who++) some_fail(&test, who);
  again(&test);
  for (unsigned who = 0; who < 1u << test.run.ranks; who++) {
    sum(&test, who, false);
    sum(&test, who, true);
  }
  return rank_test_end(&test);
}
