/* ranks: 1 2 3 4 6.  The last panels, strip by strip of C, also summed over layers: the sums are
 * those of a product in one go, and every row is stored once, when all of it is there; a rank that
 * cannot store ends with all. */
#include "engine/last_strips.h"
#include "plan/partition.h"
#include "product.h"

enum { ASKED = 3 }; /* times until a strip is stored */

typedef struct storage {
  rank_test *test;
  char *rows; /* what was stored, row after row */
  int64_t stored, asked, reports;
  bool fails; /* behind the first strip */
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
  for (int64_t row = rows.begin; row < rows.end && *done; row++, s->stored++)
    memcpy(s->rows + row * bytes, dm_view_at(sums_of(local), row, 0), (size_t)bytes);
  return DM_OK;
}

static dm_status progress(void *context, int64_t done, int64_t total) {
  storage *s = context;
  CHECK(s->test, done >= 0 && done <= total, "%lld of %lld panels", (long long)done,
        (long long)total);
  s->reports++;
  return DM_OK;
}

/* Integers, so that every order of additions gives the same bits. */
static void compare(rank_test *test, dm_problem problem, dm_wishes wishes, int strips,
                    int64_t stretch) {
  dm_machine machine;
  dm_machine_stated(NULL, 1, &machine);
  machine.ranks_per_node = test->run.ranks;
  machine.shared_slots = true; /* where what is gathered stays */
  product p = product_open_on(test, &machine, problem, wishes, DM_INTEGER, 5);
  product_fill(&p);
  product_run(&p, DM_PRODUCTS);
  if (p.plan.pk > 1) product_run(&p, 1u << DM_STEP_REDUCE);
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
  const dm_step_calls calls = {.context = &s, .store = store, .progress = progress};
  product_run(&p, DM_PRODUCTS);
  must(test, dm_multiply_last_strips(&p.local, &calls));
  CHECK(test, p.local.coords.idle || (s.stored == rows && s.reports == strips * p.plan.pk),
        "%lld of %lld rows are stored", (long long)s.stored, (long long)rows);
  CHECK(test, p.local.coords.idle || memcmp(want, s.rows, (size_t)bytes) == 0,
        "grid %dx%dx%d, %d strips, %lld panels: other sums", p.plan.pm, p.plan.pn, p.plan.pk,
        strips, (long long)p.plan.stretch);
  free(want);
  free(s.rows);
  product_close(&p);
}

static void fail_on(rank_test *test, int rank, int pm, int pk) {
  dm_wishes wishes = {.pm = pm, .pn = test->run.ranks / pm / pk, .pk = pk, .panel = 64};
  dm_machine machine;
  dm_machine_stated(NULL, 1, &machine);
  machine.ranks_per_node = test->run.ranks;
  machine.shared_slots = true;
  const dm_problem problem = product_problem(300, 40, 200, DM_F64);
  product p = product_open_on(test, &machine, problem, wishes, DM_INTEGER, 6);
  product_fill(&p);
  p.plan.strips = 5;
  p.plan.stretch = 1;
  test->run.stop.on = true;
  storage s = {.test = test, .fails = test->run.rank == rank};
  s.rows = memory_of(test, p.local.c.rows * row_bytes(&p.local));
  const dm_step_calls calls = {
      .context = &s, .store = store, .progress = progress, .may_stop = true};
  product_run(&p, DM_PRODUCTS);
  dm_status status = dm_multiply_last_strips(&p.local, &calls);
  CHECK(test, status && status->agreed && status->code == DM_E_IO && status->rank == rank,
        "rank %d fails: %s", rank, status ? status->message : "no error");
  dm_status_free(status);
  test->run.stop.on = false;
  free(s.rows);
  product_close(&p);
}

static dm_status broken(dm_backend *backend, dm_event event, bool *done) {
  (void)backend, (void)event, (void)done;
  return dm_fail(DM_E_DEVICE, "no products any more");
}

/* What the backend refuses is not asked for again. */
static void break_on(rank_test *test) {
  product p = product_open(test, product_problem(300, 40, 200, DM_F64),
                           (dm_wishes){.pm = 1, .pn = 1, .pk = 1}, DM_INTEGER, 7);
  product_fill(&p);
  p.plan.strips = 5;
  p.plan.stretch = 1;
  product_run(&p, DM_PRODUCTS);
  test->run.stop.on = true;
  storage s = {.test = test, .rows = memory_of(test, p.local.c.rows * row_bytes(&p.local))};
  const dm_backend_ops *sound = p.backend->ops;
  dm_backend_ops ops = *sound;
  ops.test = broken;
  p.backend->ops = &ops;
  const dm_step_calls calls = {
      .context = &s, .store = store, .progress = progress, .may_stop = true};
  dm_status status = dm_multiply_last_strips(&p.local, &calls);
  CHECK(test, status && status->code == DM_E_DEVICE, "the backend's failure is lost");
  dm_status_free(status);
  p.backend->ops = sound;
  test->run.stop.on = false;
  free(s.rows);
  product_close(&p);
}

int main(void) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  for (int pm = 1; pm <= ranks; pm++) {
    dm_wishes wishes = {.pm = pm, .pn = 1, .pk = 1, .panel = 64};
    for (int strips = 1; strips <= 9; strips += 4)
      for (int64_t stretch = 1; stretch <= 5; stretch += 2)
        for (int pn = 1; pm * pn <= ranks; pn++) {
          wishes.pn = pn;
          compare(&test, product_problem(53, 41, 64 * 4 + 9, DM_F64), wishes, strips, stretch);
        }
  }
  for (int pk = 2; pk <= ranks; pk++) {
    const dm_wishes wishes = {.pm = 1, .pn = ranks / pk, .pk = pk, .panel = 64};
    compare(&test, product_problem(53, 41, 64 * 2 * pk + 9, DM_F64), wishes, 1, 1);
    compare(&test, product_problem(153, 41, 64 * 2 * pk + 9, DM_F32), wishes, 5, 2);
    compare(&test, product_problem(2, 5, 64 * 3 * pk, DM_I8), wishes, 3, 3);
  }
  compare(&test, product_problem(3, 2, 1, DM_F32), (dm_wishes){.pk = 1}, 8, 1);
  if (ranks == 1) break_on(&test);
  for (int rank = 0; rank < ranks; rank++) {
    fail_on(&test, rank, ranks % 2 ? 1 : 2, 1);
    if (ranks < 4) fail_on(&test, rank, 1, ranks);
  }
  return rank_test_end(&test);
}
