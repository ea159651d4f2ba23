/* ranks: 1 2 3 4 */
/* One rank is asked to stop: all stop after the same panel, with every gather finished. */
#include <signal.h>
#include <unistd.h>

#include "engine/execute.h"
#include "small_product.h"

enum { SIZE = 24, PANELS = 300, ASKED = 20 };

typedef struct asking {
  atomic_int arrived;
  bool asks;
  int64_t done;
} asking;

static dm_status progress(void *context, int64_t done, int64_t total) {
  asking *a = context;
  a->done = done;
  if (a->asks && done >= ASKED) a->arrived = SIGUSR1;
  if (total > 0) usleep(3000); /* else the product ends before requests arrive */
  return DM_OK;
}

static dm_status run_until(rank_test *test, dm_wishes wishes, asking *a) {
  dm_problem problem = product_problem(SIZE, SIZE, PANELS * 64, DM_F32);
  wishes.panel = 64;
  product p = product_open(test, problem, wishes, DM_UNIFORM, 1);
  product_fill(&p);
  const dm_step_calls calls = {.context = a, .progress = progress, .may_stop = true};
  dm_status status = dm_execute(&p.local, DM_PRODUCTS, &calls);
  int64_t done[2] = {a->done, p.local.coords.idle ? INT64_MIN : -a->done};
  must(test, dm_comm_max_i64(test->run.world, done, 2));
  if (status)
    CHECK(test, -done[1] == done[0], "stopped after %lld to %lld panels", (long long)-done[1],
          (long long)done[0]);
  product_close(&p);
  return status;
}

static void one_asks(rank_test *test, dm_wishes wishes, int rank) {
  asking a = {.asks = test->run.rank == rank};
  test->run.stop = (dm_stop){.on = true, .arrived = &a.arrived};
  dm_status status = run_until(test, wishes, &a);
  int64_t most = a.done;
  must(test, dm_comm_max_i64(test->run.world, &most, 1));
  CHECK(test, status && status->code == DM_E_STOPPED && status->agreed, "did not stop");
  CHECK(test, most >= ASKED && most < PANELS, "stopped after %lld panels", (long long)most);
  dm_status_free(status);
}

static void nobody_asks(rank_test *test, dm_wishes wishes) {
  asking a = {0};
  test->run.stop = (dm_stop){.on = true, .arrived = &a.arrived};
  dm_status status = run_until(test, wishes, &a);
  CHECK(test, !status, "stopped, though nobody asked");
  CHECK(test, a.done == PANELS || a.done == 0, "%lld panels were multiplied", (long long)a.done);
  dm_status_free(status);
}

/* Requests to stop are ignored while C is written, and rank 0 says so once. */
static void too_late(rank_test *test) {
  atomic_int arrived = 0;
  char *said = NULL;
  size_t size = 0;
  const dm_log log = test->run.log;
  test->run.stop = (dm_stop){.on = true, .arrived = &arrived};
  test->run.log = (dm_log){
      .out = open_memstream(&said, &size), .level = DM_LOG_WARNING, .rank = test->run.rank};
  dm_run_poll_late(&test->run);
  arrived = SIGUSR1;
  for (int i = 0; i < 3; i++) dm_run_poll_late(&test->run);
  fclose(test->run.log.out);
  test->run.log = log;
  const char *wanted = "damier: warning: too late to be stopped early: SIGUSR1 arrived: all "
                       "products are done, and C is being written\n";
  CHECK(test, strcmp(said, test->run.rank == 0 ? wanted : "") == 0, "said: %s", said);
  free(said);
}

TEST_PROGRAM(test_stop) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  one_asks(&test, (dm_wishes){.pm = 1, .pn = ranks, .pk = 1}, ranks - 1);
  one_asks(&test, (dm_wishes){.pm = 1, .pn = 1, .pk = 1}, 0); /* other ranks are idle */
  if (ranks == 4) one_asks(&test, (dm_wishes){.pm = 2, .pn = 2, .pk = 1}, 3);
  too_late(&test);
  nobody_asks(&test, (dm_wishes){.pm = ranks, .pn = 1, .pk = 1});
  return rank_test_end(&test);
}
