/* ranks: 1 2 4 6 */
/* One rank's file fails during the multiplication: all ranks return its error, and none keeps
 * waiting, wherever the failure is and whichever rank is asked to stop at the same time. */
#include <signal.h>

#include "engine/execute.h"
#include "small_product.h"

enum { PANELS = 40 };

typedef enum place { AT_LOAD, AT_LOADED, AT_PROGRESS, PLACES } place;

typedef struct failing {
  place where;
  int rank, asked;
  int64_t after;
  atomic_int arrived;
  bool stops; /* the last rank is asked to stop at that moment */
  int times;  /* number of failures */
} failing;

static dm_status strike(failing *f, const dm_rank_state *local, place where, int64_t done) {
  const dm_run *run = local->run;
  if (done < f->after || where != f->where) return DM_OK;
  if (f->stops && run->rank == run->ranks - 1) f->arrived = SIGUSR1;
  if (run->rank != f->rank) return DM_OK;
  f->times++;
  return dm_fail(DM_E_IO, "the file of rank %d", run->rank);
}

static dm_status load(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  (void)matrix;
  return strike(context, local, AT_LOAD, panel - local->panels.begin);
}

static dm_status loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  failing *f = context;
  (void)matrix;
  *done = ++f->asked % 3 == 0;
  return strike(f, local, AT_LOADED, panel - local->panels.begin);
}

static _Thread_local dm_rank_state *current; /* progress functions get no state */

static dm_status progress(void *context, int64_t done, int64_t total) {
  (void)total;
  return strike(context, current, AT_PROGRESS, done);
}

static void fail_at(rank_test *test, dm_wishes wishes, failing f) {
  dm_problem problem = product_problem(48, 40, PANELS * 64, DM_F64);
  wishes.panel = 64;
  product p = product_open(test, problem, wishes, DM_UNIFORM, 1);
  product_fill(&p);
  current = &p.local;
  test->run.stop = (dm_stop){.on = true, .arrived = &f.arrived};
  const dm_source_ops ops = {.load = load, .loaded = f.where == AT_LOADED ? loaded : NULL};
  const dm_step_calls calls = {
      .source = {{&ops, &f}, {&ops, &f}}, .context = &f, .progress = progress, .may_stop = true};
  dm_status status = dm_execute(&p.local, DM_LOADS | DM_PRODUCTS, &calls);
  CHECK(test, status && status->agreed && status->code == DM_E_IO && status->rank == f.rank,
        "grid %dx%dx%d, place %d, rank %d: %s", p.plan.pm, p.plan.pn, p.plan.pk, (int)f.where,
        f.rank, status ? status->message : "no error");
  CHECK(test, f.times == (test->run.rank == f.rank), "it failed %d times", f.times);
  dm_status_free(status);
  product_close(&p);
}

TEST_PROGRAM(test_failing) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  for (int pk = 1; pk <= 2 && pk <= ranks; pk++)
    for (int pm = 1; pm * pk <= ranks; pm += pm)
      for (int where = 0; where < PLACES; where++) {
        const dm_wishes wishes = {.pm = pm, .pn = ranks / pk / pm, .pk = pk};
        const int used = wishes.pm * wishes.pn * wishes.pk;
        fail_at(&test, wishes, (failing){.where = (place)where, .rank = used - 1, .after = 5});
        fail_at(&test, wishes,
                (failing){.where = (place)where, .rank = 0, .after = 7, .stops = true});
      }
  return rank_test_end(&test);
}
