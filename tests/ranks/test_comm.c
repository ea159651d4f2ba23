/* ranks: 1 2 3 4 6 8. Communicators, collectives and messages, including empty ones. */
#include "rank_test.h"

static const int64_t sizes[] = {0, 1, 7, 4096, 65537, 0, 1 << 20, 3};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void collectives(rank_test *t) {
  const dm_comm *world = t->run.world;
  const int me = t->run.rank, ranks = t->run.ranks;
  unsigned char data[257], all[8 * 5];
  for (int root = 0; root < ranks; root++) {
    put_pattern(data, sizeof data, me, root);
    must(t, dm_comm_broadcast(world, data, sizeof data, root));
    CHECK(t, has_pattern(data, sizeof data, root, root), "broadcast from %d", root);
    put_pattern(data, 5, me, 40);
    memset(all, 0, sizeof all);
    must(t, dm_comm_gather(world, data, 5, all, root));
    for (int r = 0; r < ranks && me == root; r++)
      CHECK(t, has_pattern(all + 5 * r, 5, r, 40), "gather to %d: piece of %d", root, r);
  }
  double reals[3] = {me, -me, 0.5};
  int64_t wholes[2] = {me, INT64_MAX - me};
  must(t, dm_comm_sum_f64(world, reals, 3));
  CHECK(t, reals[0] == ranks * (ranks - 1) / 2 && reals[1] == -reals[0] && reals[2] == 0.5 * ranks,
        "sums %g %g %g", reals[0], reals[1], reals[2]);
  must(t, dm_comm_max_i64(world, wholes, 2));
  CHECK(t, wholes[0] == ranks - 1 && wholes[1] == INT64_MAX, "maxima");
  double most = -1.0 - me;
  must(t, dm_comm_max_f64(world, &most, 1));
  CHECK(t, most == -1.0, "maximum %g", most);
  must(t, dm_comm_barrier(world));
}

/* Odd ranks in reverse order, even ones in no group. */
static void split(rank_test *t) {
  dm_comm *part;
  const int me = t->run.rank, ranks = t->run.ranks;
  must(t, dm_comm_split(t->run.world, me % 2 ? 0 : -1, -me, &part));
  CHECK(t, (part != NULL) == (me % 2 == 1), "who is in");
  if (part) {
    CHECK(t, dm_comm_size(part) == ranks / 2, "size %d", dm_comm_size(part));
    CHECK(t, dm_comm_rank(part) == (ranks - (ranks % 2) - 1 - me) / 2, "rank %d",
          dm_comm_rank(part));
  }
  dm_comm_free(part);
}

/* Every rank sends every size to every other; all messages are under way at once. */
static void messages(rank_test *t) {
  const int me = t->run.rank, ranks = t->run.ranks;
  unsigned char *in[8][SIZES], *out[SIZES];
  dm_messages *set;
  must(t, dm_messages_new(&set));
  for (int s = 0; s < SIZES; s++) {
    out[s] = memory_of(t, sizes[s]);
    put_pattern(out[s], sizes[s], me, s);
    for (int peer = 0; peer < ranks; peer++) {
      in[peer][s] = memory_of(t, sizes[s] + 1);
      in[peer][s][sizes[s]] = 0xa5;
      if (peer == me) continue;
      must(t, dm_messages_receive(set, t->run.world, in[peer][s], sizes[s], peer, s));
      must(t, dm_messages_send(set, t->run.world, out[s], sizes[s], peer, s));
    }
  }
  bool done = false;
  while (!done) must(t, dm_messages_test(set, &done));
  must(t, dm_messages_wait(set)); /* nothing to wait for */
  for (int s = 0; s < SIZES; s++) {
    for (int peer = 0; peer < ranks; peer++) {
      if (peer != me)
        CHECK(t, has_pattern(in[peer][s], sizes[s], peer, s), "%lld bytes of %d",
              (long long)sizes[s], peer);
      CHECK(t, in[peer][s][sizes[s]] == 0xa5, "written behind the end");
      free(in[peer][s]);
    }
    free(out[s]);
  }
  dm_messages_free(set);
}

TEST_PROGRAM(test_comm) {
  rank_test test = rank_test_start();
  collectives(&test);
  split(&test);
  messages(&test);
  messages(&test);
  return rank_test_end(&test);
}
