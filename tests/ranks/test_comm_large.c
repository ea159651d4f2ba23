/* ranks: 2 (long). A message of more than 1 GiB: it is sent in pieces, in order. */
#include "rank_test.h"

#include "core/buffer.h"
#include "large_pattern.h"

static const int64_t bytes = ((int64_t)1 << 30) * 2 + 12345;

TEST_PROGRAM(test_comm_large) {
  rank_test test = rank_test_start();
  int64_t short_of_memory = dm_memory_available() < 6 * bytes;
  must(&test, dm_comm_max_i64(test.run.world, &short_of_memory, 1));
  if (short_of_memory) {
    dm_run_stop(&test.run);
    return SKIPPED;
  }
  const int peer = 1 - test.run.rank;
  unsigned char *in = memory_of(&test, bytes), *out = memory_of(&test, bytes);
  pattern(out, 0, bytes, test.run.rank, true);
  dm_messages *set;
  must(&test, dm_messages_new(&set));
  must(&test, dm_messages_receive(set, test.run.world, in, bytes, peer, 1));
  must(&test, dm_messages_send(set, test.run.world, out, bytes, peer, 1));
  must(&test, dm_messages_wait(set));
  CHECK(&test, pattern(in, 0, bytes, peer, false), "message of %lld bytes", (long long)bytes);
  must(&test, dm_comm_broadcast(test.run.world, out, bytes, 1));
  CHECK(&test, pattern(out, 0, bytes, 1, false), "broadcast of %lld bytes", (long long)bytes);
  dm_messages_free(set);
  free(in);
  free(out);
  return rank_test_end(&test);
}
