/* ranks: 1 2 4 6. Shares that become complete panel by panel during products: no rank may read
 * missing panels, whichever rank is late, also when the same shares are filled a second time. */
#include "engine/execute.h"
#include "plan/partition.h"
#include "small_product.h"

enum { ASKED = 7 }; /* polls until a late rank has the next panel */

typedef struct bringing {
  product *p;
  int64_t there[2];
  int asked[2], late;
} bringing;

static dm_status begin(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  bringing *b = context;
  if (panel == local->panels.begin) b->there[matrix] = 0;
  return DM_OK;
}

static dm_status loaded(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  bringing *b = context;
  const int patience = local->run->rank == b->late ? ASKED : 2 + (int)matrix;
  if (b->there[matrix] < dm_range_size(local->panels) && ++b->asked[matrix] % patience == 0)
    fill_panel(b->p, matrix, local->panels.begin + b->there[matrix]++);
  *done = panel - local->panels.begin < b->there[matrix];
  return DM_OK;
}

static void spoil(product *p, dm_matrix matrix) {
  for (int64_t panel = p->local.panels.begin; panel < p->local.panels.end; panel++) {
    const dm_view piece = dm_rank_piece(&p->local, matrix, panel);
    if (!dm_view_is_empty(piece))
      memset(piece.base, 0x7f, (size_t)(piece.rows * piece.cols * dm_dtype_size(piece.dtype)));
  }
}

/* Compares the sums of a product with shares filled at once and panel by panel. */
static void compare(rank_test *test, dm_wishes wishes, int late, bool shared_slots) {
  const dm_problem problem = product_problem(53, 41, 64 * 14 + 9, DM_F64);
  const dm_machine machine = one_node(test, NULL, shared_slots);
  product p = product_open_on(test, &machine, problem, wishes, DM_UNIFORM, 3);
  product_fill(&p);
  product_run(&p, DM_PRODUCTS);
  const dm_view c = p.local.c;
  const size_t bytes = (size_t)(c.rows * c.cols * dm_dtype_size(c.dtype));
  void *want = memory_of(test, (int64_t)bytes);
  if (!p.local.coords.idle) memcpy(want, c.base, bytes);
  bringing b = {.p = &p, .late = late};
  static const dm_source_ops ops = {.load = begin, .loaded = loaded};
  const dm_step_calls calls = {.source = {{&ops, &b}, {&ops, &b}}};
  for (int again = 0; again < 2; again++) {
    must(test, dm_comm_barrier(test->run.world)); /* peers have finished reading */
    spoil(&p, DM_A);
    spoil(&p, DM_B);
    if (!p.local.coords.idle) memset(c.base, 0x7f, bytes);
    must(test, dm_comm_barrier(test->run.world));
    must(test, dm_execute(&p.local, DM_LOADS | DM_PRODUCTS, &calls));
    CHECK(test, p.local.coords.idle || memcmp(want, c.base, bytes) == 0,
          "grid %dx%dx%d, rank %d late, time %d: other bits", p.plan.pm, p.plan.pn, p.plan.pk, late,
          again);
  }
  free(want);
  product_close(&p);
}

TEST_PROGRAM(test_brought) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++)
        for (int shared_slots = 0; shared_slots < 2; shared_slots++)
          compare(&test,
                  (dm_wishes){.pm = pm, .pn = pn, .pk = pk, .panel = 64, .no_overlap = pn == 3},
                  (pm + pn + pk) % ranks, shared_slots);
  return rank_test_end(&test);
}
