/* First example of src/transport: three ranks gather a panel, of which each has a piece. */
#include "checks.h"
#include "comm/team.h"
#include "transport/transport.h"

enum { RANKS = 3 };

static void gather(dm_comm *world, void *none) {
  (void)none;
  const int64_t offset[RANKS] = {0, 2, 5}, bytes[RANKS] = {2, 3, 1};
  const char *pieces[RANKS] = {"ab", "cde", "f"};
  char slot[7] = "";
  const dm_transport_config config = {.group = world, .device = -1};
  const dm_gather panel = {.group = world,
                           .own = pieces[dm_comm_rank(world)],
                           .slot = slot,
                           .offset = offset,
                           .bytes = bytes};
  dm_transport *transport;
  int ticket;
  bool done = false;
  ok(dm_transport_open(dm_transport_find("host"), &config, &transport));
  ok(dm_transport_post(transport, &panel, &ticket));
  while (!done) ok(dm_transport_test(transport, ticket, &done));
  assert_string_equal(slot, "abcdef");
  dm_transport_close(transport);
  dm_comm_free(world);
}

TEST(first_gathered_panel) {
  ok(dm_team_run(RANKS, gather, NULL));
}

RUN_ALL(test_first_transport)
