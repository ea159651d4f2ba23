/* plan_cases: reproducible random problems, machines and wishes for tests of the planner. */
#ifndef DM_TESTS_PLAN_CASES_H
#define DM_TESTS_PLAN_CASES_H

#include "checks.h"
#include "core/element.h"
#include "lib/product_problem.h"
#include "plan/buffers.h"
#include "plan/choose.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "plan/tiles.h"

typedef struct dice {
  uint64_t seed;
  int64_t rolls;
} dice;

/* An integer in [LOW, HIGH]. */
static inline int64_t roll(dice *d, int64_t low, int64_t high) {
  uint64_t bits = dm_random_bits(d->seed, d->rolls++, 0, 0);
  return low + (int64_t)(bits % (uint64_t)(high - low + 1));
}

static inline dm_problem problem_of(int64_t m, int64_t n, int64_t k, dm_dtype work) {
  dm_problem problem = product_problem(m, n, k, work);
  dm_problem_set_home(&problem, DM_HOME_FILE);
  return problem;
}

/* Sizes from 1 to MOST; small ones are as likely as large ones. */
static inline int64_t roll_size(dice *d, int64_t most) {
  return roll(d, 1, dm_range_size((dm_range){0, most >> roll(d, 0, 9)}) + 1);
}

static inline dm_machine machine_of(const char *text) {
  dm_machine machine;
  assert_null(dm_machine_parse(text, &machine));
  return machine;
}

static inline dm_machine roll_machine(dice *d, int ranks) {
  static const char *const kinds[] = {"", "gpu=h200 links=device", "gpu=h200 links=host",
                                      "gpu=a100", "links=host"};
  dm_machine machine = machine_of(kinds[roll(d, 0, 4)]);
  machine.ranks_per_node = (int)roll(d, 1, ranks);
  machine.nodes = (ranks + machine.ranks_per_node - 1) / machine.ranks_per_node;
  return machine;
}

/* Any wishes that RANKS ranks can fulfil. */
static inline dm_wishes roll_wishes(dice *d, int ranks) {
  dm_wishes w = {.reproducible = roll(d, 0, 4) == 0, .no_overlap = roll(d, 0, 3) == 0};
  if (roll(d, 0, 1)) w.pm = (int)roll(d, 1, ranks);
  if (roll(d, 0, 1)) w.pn = (int)roll(d, 1, ranks / (w.pm ? w.pm : 1));
  if (roll(d, 0, 1) && !w.reproducible)
    w.pk = (int)roll(d, 1, ranks / (w.pm ? w.pm : 1) / (w.pn ? w.pn : 1));
  if (roll(d, 0, 1) && !w.reproducible) w.panel = DM_PANEL_STEP * roll(d, 1, 8);
  return w;
}

/* The best plan, which must exist. */
static inline dm_plan planned(const dm_problem *problem, const dm_machine *machine, int ranks,
                              dm_wishes wishes) {
  dm_plan plan;
  ok(dm_plan_choose(problem, machine, ranks, &wishes, &plan));
  return plan;
}

/* The best plan for a cube of 8192 on all ranks of a machine, from files or from the ranks' shares.
 */
static inline dm_plan planned_8192(const char *words, bool from_files, dm_wishes wishes) {
  dm_problem problem = problem_of(8192, 8192, 8192, DM_F64);
  const dm_machine machine = machine_of(words);
  dm_problem_set_home(&problem, from_files ? DM_HOME_FILE : DM_HOME_SHARES);
  return planned(&problem, &machine, machine.nodes * machine.ranks_per_node, wishes);
}

/* PM x PN x PK ranks without a GPU, C in one tile. */
static inline dm_plan plan_on_grid(dm_problem problem, int pm, int pn, int pk) {
  return (dm_plan){.problem = problem,
                   .ranks = pm * pn * pk,
                   .pm = pm,
                   .pn = pn,
                   .pk = pk,
                   .qm = 1,
                   .qn = 1,
                   .qk = 1,
                   .kb = DM_PANEL_STEP,
                   .panels = (problem.k + DM_PANEL_STEP - 1) / DM_PANEL_STEP,
                   .slots = 2,
                   .tiles_m = 1,
                   .tiles_n = 1,
                   .blocks = 1,
                   .overlap = true};
}

/* 2 x 2 x 2 ranks on GPUs without links: every kind of step, 5 panels per layer. */
static inline dm_plan whole_plan(void) {
  dm_plan plan = plan_on_grid(problem_of(100, 90, 640, DM_F64), 2, 2, 2);
  plan.ranks = 9;
  plan.gpu = true;
  return plan;
}

/* A random set of tiles is done; free the result. */
static inline dm_todo *roll_todo(dice *d, dm_plan *plan) {
  const int64_t tiles = plan->tiles_m * plan->tiles_n;
  bool there[128] = {false};
  dm_todo *todo;
  assert_true(tiles <= 128);
  for (int64_t t = 0; t < tiles; t++) there[t] = roll(d, 0, 2) == 0;
  ok(dm_todo_new(tiles, there, &todo));
  plan->todo = todo;
  return todo;
}

/* Whether each rank uploads its piece of a panel before its peers read it. */
static inline bool uploads_first(const dm_plan *plan, dm_matrix matrix) {
  const dm_route route = dm_plan_route(plan, matrix);
  return route.exposed != route.piece;
}

#endif
