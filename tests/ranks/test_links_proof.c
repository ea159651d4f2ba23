/* ranks: 2 3 4 9. A faulty transport is detected before it is used. */
#include "backend/backend.h"
#include "backend/cpu.h"
#include "engine/links.h"
#include "faulty_transport.h"

static void prove(rank_test *t, dm_backend *cpu, const dm_transport_ops *ops, enum fault which,
                  const char *wanted) {
  fault = which;
  dm_link_rates rate = {0};
  dm_status status = dm_links_self_test(&t->run, cpu, ops, &rate);
  if (!wanted) {
    CHECK(t, !status && rate.inside > 0.0, "a sound transport was refused");
  } else {
    CHECK(t, status && status->agreed && strstr(status->message, wanted), "wanted '%s', got '%s'",
          wanted, status ? status->message : "nothing");
  }
  dm_status_free(status);
}

TEST_PROGRAM(test_links_proof) {
  rank_test test = rank_test_start();
  const dm_backend_config config = {.local_ranks = test.run.ranks, .threads = 1, .kernel = "auto"};
  dm_backend *cpu;
  must(&test, dm_backend_open(&dm_backend_cpu, &config, &cpu));
  prove(&test, cpu, &faulty_ops, SOUND, NULL);
  prove(&test, cpu, &faulty_ops, WRONG_BYTE, "arrived as");
  prove(&test, cpu, &faulty_ops, REFUSED_OPEN, "no such link");
  prove(&test, cpu, &faulty_ops, FAILING_POST, "the link is down");
  const dm_transport_ops absent = {.name = "absent", .not_built = "no library"};
  prove(&test, cpu, &absent, SOUND, "not built");
  prove(&test, cpu, &faulty_ops, SOUND, NULL); /* earlier failures left nothing behind */
  dm_backend_close(cpu);
  return rank_test_end(&test);
}
