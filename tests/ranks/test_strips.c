/* ranks: 1 2 3 4 6. The last panels in strips of C, also summed over layers: the same sums as in
 * one product, and every row is stored once, when complete; if a rank cannot store, all end, and
 * all stop after the same strip. */
#include <signal.h>
#include <unistd.h>

#include "engine/execute.h"
#include "small_product.h"

enum { ASKED = 3 }; /* polls until a strip is stored */

typedef struct storage {
  rank_test *test;
  char *rows; /* stored rows, in order */
  int64_t stored, asked, reports, panels;
  bool fails; /* after the first strip */
  bool slow;
  atomic_int *arrives; /* when the first strip is stored */
} storage;

static int64_t row_bytes(const dm_rank_state *local) {
  return local->c.cols * dm_dtype_size(local->c.dtype);
}

static dm_view sums_of(const dm_rank_state *local) {
  return local->plan->pk > 1 ? local->c_sum : local->c;
}

static dm_status store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  storage *s = context;
  const int64_t bytes = row_bytes(local);
  if (s->fails && rows.begin > 0) return dm_fail(DM_E_IO, "no room");
  CHECK(s->test, rows.begin == s->stored, "rows from %lld, %lld are stored", (long long)rows.begin,
        (long long)s->stored);
  *done = ++s->asked % ASKED == 0;
  if (s->slow) usleep(20000);
  if (s->arrives) *s->arrives = SIGUSR1;
  for (int64_t row = rows.begin; row < rows.end && *done; row++, s->stored++)
    memcpy(s->rows + row * bytes, dm_view_at(sums_of(local), row, 0), (size_t)bytes);
  return DM_OK;
}

static dm_status progress(void *context, int64_t done, int64_t total) {
  storage *s = context;
  CHECK(s->test, done >= 0 && done <= total, "%lld of %lld panels", (long long)done,
        (long long)total);
  CHECK(s->test, done >= s->panels, "%lld panels after %lld", (long long)done,
        (long long)s->panels);
  s->panels = done;
  s->reports++;
  return DM_OK;
}

/* Shared slots keep gathered panels. */
static product open_shared(rank_test *test, dm_problem problem, dm_wishes wishes, uint64_t seed) {
  const dm_machine machine = one_node(test, NULL, true);
  return product_open_on(test, &machine, problem, wishes, DM_INTEGER, seed);
}

/* In ROUNDS: everything before the strips and then the strips, or all in one. Integers give the
 * same bits in every order of additions. */
static void compare(rank_test *test, dm_problem problem, dm_wishes wishes, int strips,
                    int64_t stretch, int rounds) {
  product p = open_shared(test, problem, wishes, 5);
  product_fill(&p);
  product_run(&p, DM_PRODUCTS);
  if (p.plan.pk > 1) product_run(&p, DM_SUMS);
  const int64_t block = p.local.c.rows * row_bytes(&p.local);
  const int64_t rows = p.local.coords.idle ? 0 : dm_range_size(dm_rank_sums(&p.local));
  const int64_t bytes = rows * row_bytes(&p.local);
  void *want = memory_of(test, bytes);
  if (bytes > 0) memcpy(want, sums_of(&p.local).base, (size_t)bytes);

  const int64_t shortest = dm_range_size(dm_plan_layer(&p.plan, p.plan.pk - 1));
  p.plan.strips = strips;
  p.plan.stretch = stretch < shortest ? stretch : shortest;
  must(test, dm_comm_barrier(test->run.world));
  if (!p.local.coords.idle) memset(p.local.c.base, 0x7f, (size_t)block);
  if (p.plan.pk > 1 && bytes > 0) memset(p.local.c_sum.base, 0x7f, (size_t)bytes);
  storage s = {.test = test, .rows = memory_of(test, bytes)};
  static const dm_sink_ops sink = {.store = store};
  const dm_step_calls calls = {.sink = {&sink, &s}, .context = &s, .progress = progress};
  if (rounds > 1) product_run(&p, DM_PRODUCTS);
  must(test, dm_execute(&p.local, rounds > 1 ? DM_STRIPS : DM_ALL_STEPS & ~DM_LOADS, &calls));
  CHECK(test, p.local.coords.idle || s.stored == rows, "%lld of %lld rows are stored",
        (long long)s.stored, (long long)rows);
  const int64_t panels = dm_range_size(p.local.panels), alone = panels - p.plan.stretch;
  CHECK(test,
        s.panels == panels && (p.local.coords.idle ||
                               s.reports == 1 + dm_plan_strips(&p.plan) + (rounds > 1 ? 0 : alone)),
        "%lld reports, of %lld panels", (long long)s.reports, (long long)s.panels);
  CHECK(test, p.local.coords.idle || memcmp(want, s.rows, (size_t)bytes) == 0,
        "grid %dx%dx%d, %d strips, %lld panels: other sums", p.plan.pm, p.plan.pn, p.plan.pk,
        strips, (long long)p.plan.stretch);
  free(want);
  free(s.rows);
  product_close(&p);
}

/* Starts STRIPS of the last panel of a product whose other panels are done, in a run that may stop.
 */
static void begin(product *p, storage *s, rank_test *test, dm_problem problem, dm_wishes wishes,
                  int strips) {
  *p = open_shared(test, problem, wishes, 6);
  product_fill(p);
  p->plan.strips = strips;
  p->plan.stretch = 1;
  product_run(p, DM_PRODUCTS);
  *s = (storage){.test = test, .rows = memory_of(test, p->local.c.rows * row_bytes(&p->local))};
  test->run.stop.on = true;
}

/* The strips fail with CODE; if RANK is not negative, all ranks report it. */
static void end(product *p, storage *s, dm_code code, int rank) {
  rank_test *test = s->test;
  static const dm_sink_ops sink = {.store = store};
  const dm_step_calls calls = {
      .sink = {&sink, s}, .context = s, .progress = progress, .may_stop = true};
  dm_status status = dm_execute(&p->local, DM_STRIPS, &calls);
  CHECK(test,
        status && status->code == code && (rank < 0 || (status->agreed && status->rank == rank)),
        "wanted code %d of rank %d: %s", (int)code, rank, status ? status->message : "no error");
  dm_status_free(status);
}

static void finish(product *p, storage *s) {
  s->test->run.stop = (dm_stop){0};
  free(s->rows);
  product_close(p);
}

static void fail_on(rank_test *test, int rank, int pm, int pk) {
  dm_wishes wishes = {.pm = pm, .pn = test->run.ranks / pm / pk, .pk = pk, .panel = 64};
  product p;
  storage s;
  begin(&p, &s, test, product_problem(300, 40, 200, DM_F64), wishes, 5);
  s.fails = test->run.rank == rank;
  end(&p, &s, DM_E_IO, rank);
  finish(&p, &s);
}

/* All stop after the same strip: each layer has stored its part of those before. */
static void stop_at(rank_test *test, int rank, int pk) {
  const int ranks = test->run.ranks, strips = 40 / pk;
  const dm_wishes wishes = {.pm = ranks / pk, .pn = 1, .pk = pk, .panel = 64};
  atomic_int arrived = 0;
  product p;
  storage s;
  begin(&p, &s, test, product_problem(40 * ranks, 40, 64 * pk, DM_F64), wishes, strips);
  test->run.stop.arrived = &arrived;
  s.slow = true;
  s.arrives = test->run.rank == rank ? &arrived : NULL;
  end(&p, &s, DM_E_STOPPED, -1);
  int64_t stored = 0, most;
  for (int64_t x = p.local.coords.l; x < dm_plan_strips(&p.plan); x += pk)
    if (dm_plan_strip(&p.plan, p.local.coords.i, x).rows.end <= s.stored) stored++;
  most = stored;
  must(test, dm_comm_max_i64(test->run.world, &most, 1));
  CHECK(test, stored > 0 && stored < strips && most - stored <= (pk > 1),
        "%lld strips are stored here, %lld elsewhere", (long long)stored, (long long)most);
  finish(&p, &s);
}

static dm_status broken(dm_backend *backend, dm_event event, bool *done) {
  (void)backend, (void)event, (void)done;
  return dm_fail(DM_E_DEVICE, "no products any more");
}

/* Refused calls of the backend are not repeated. */
static void break_on(rank_test *test) {
  product p;
  storage s;
  begin(&p, &s, test, product_problem(300, 40, 200, DM_F64), (dm_wishes){.pm = 1, .pn = 1, .pk = 1},
        5);
  const dm_backend_ops *sound = p.backend->ops;
  dm_backend_ops ops = *sound;
  ops.test = broken;
  p.backend->ops = &ops;
  end(&p, &s, DM_E_DEVICE, -1);
  p.backend->ops = sound;
  finish(&p, &s);
}

TEST_PROGRAM(test_strips) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  for (int pm = 1; pm <= ranks; pm++) {
    dm_wishes wishes = {.pm = pm, .pn = 1, .pk = 1, .panel = 64};
    for (int strips = 1; strips <= 9; strips += 4)
      for (int64_t stretch = 1; stretch <= 5; stretch += 2)
        for (int pn = 1; pm * pn <= ranks; pn++) {
          wishes.pn = pn;
          for (int rounds = 1; rounds <= 2; rounds++)
            compare(&test, product_problem(53, 41, 64 * 4 + 9, DM_F64), wishes, strips, stretch,
                    rounds);
        }
  }
  for (int pk = 2; pk <= ranks; pk++) {
    const dm_wishes wishes = {.pm = 1, .pn = ranks / pk, .pk = pk, .panel = 64};
    compare(&test, product_problem(53, 41, 64 * 2 * pk + 9, DM_F64), wishes, 1, 1, 2);
    compare(&test, product_problem(153, 41, 64 * 2 * pk + 9, DM_F32), wishes, 5, 2, 1);
    compare(&test, product_problem(153, 41, 64 * 2 * pk + 9, DM_F32), wishes, 5, 2, 2);
    compare(&test, product_problem(2, 5, 64 * 3 * pk, DM_I8), wishes, 3, 3, 2);
  }
  compare(&test, product_problem(3, 2, 1, DM_F32), (dm_wishes){.pk = 1}, 8, 1, 2);
  if (ranks == 1) break_on(&test);
  stop_at(&test, ranks - 1, 1);
  if (ranks % 2 == 0) stop_at(&test, 0, 2);
  for (int rank = 0; rank < ranks; rank++) {
    fail_on(&test, rank, ranks % 2 ? 1 : 2, 1);
    if (ranks < 4) fail_on(&test, rank, 1, ranks);
  }
  return rank_test_end(&test);
}
