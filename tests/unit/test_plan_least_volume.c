/* If products cost nothing the planner must find the least volume of all grids: compared with an
 * independent count and the tight lower bound (arXiv 2205.13407). */
#include "core/checked.h"
#include "plan/partition.h"
#include "plan_cases.h"

enum { MOST_RANKS = 128 };

typedef struct shape {
  const char *name;
  int64_t m, n, k;
} shape;

/* Shapes of the published comparisons (COSMA, CA3DMM). */
static const shape shapes[] = {{"square", 50000, 50000, 50000},
                               {"largeK", 6000, 6000, 1200000},
                               {"largeM", 1200000, 6000, 6000},
                               {"flat", 100000, 100000, 5000}};

enum { SQUARE, LARGE_K, LARGE_M, FLAT, SHAPES };
_Static_assert(sizeof shapes == SHAPES * sizeof *shapes, "every shape has its name");

static const double NEAR = 1.02; /* times the bound */

/* One rank per node, and a rate of products. */
static dm_machine machine_of_rate(int ranks, double flops) {
  char text[200];
  snprintf(text, sizeof text,
           "gpu=h200 links=device link=48 network=48 latency=0.000001 copy=1e9 upload=1e9 nodes=%d",
           ranks);
  dm_machine machine = machine_of(text);
  machine.flops[DM_F64] = flops;
  machine.memory = 1e30;
  machine.host_bytes = machine.device_bytes = 0; /* no limit */
  return machine;
}

/* The best plan that divides the work: a single rank would do all of it and receive nothing. */
static dm_plan divided(const shape *s, const dm_machine *machine, dm_wishes wishes) {
  const int ranks = machine->nodes;
  dm_problem problem = problem_of(s->m, s->n, s->k, DM_F64);
  dm_plan plans[2];
  int found;
  dm_problem_set_home(&problem, DM_HOME_SHARES);
  problem.verify = false;
  ok(dm_plan_candidates(&problem, machine, ranks, &wishes, plans, 2, &found));
  assert_int_equal(found, 2);
  return plans[dm_plan_used(&plans[0]) == 1];
}

/* Elements received by the rank with the largest part in a pm x pn x pk grid; k is divided in units
 * of 64: the definition, not the planner's model. */
static double volume(const shape *s, int pm, int pn, int pk) {
  const double rows = (double)dm_ceil_div(s->m, pm), cols = (double)dm_ceil_div(s->n, pn);
  const double depth = fmin(
      (double)(dm_ceil_div(dm_ceil_div(s->k, DM_PANEL_STEP), pk) * DM_PANEL_STEP), (double)s->k);
  return rows * depth * (1 - 1.0 / pn) + depth * cols * (1 - 1.0 / pm) +
         rows * cols * (1 - 1.0 / pk);
}

static double least_volume(const shape *s, int ranks) {
  double least = INFINITY;
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++)
        if (pm * pn * pk > 1) least = fmin(least, volume(s, pm, pn, pk));
  return least;
}

TEST(volume_is_the_least_of_all_grids) {
  for (int i = 0; i < SHAPES; i++)
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
      const dm_machine machine = machine_of_rate(ranks, 1e30);
      dm_plan plan =
          divided(&shapes[i], &machine, (dm_wishes){.panel = DM_PANEL_STEP, .no_overlap = true});
      double mine = volume(&shapes[i], plan.pm, plan.pn, plan.pk);
      double least = least_volume(&shapes[i], ranks);
      if (mine > least * (1 + 1e-6))
        fail_msg("%s on %d ranks: %dx%dx%d receives %.0f elements, %.0f are possible",
                 shapes[i].name, ranks, plan.pm, plan.pn, plan.pk, mine, least);
    }
}

static double ratio(const dm_plan *plan) {
  return plan->received_words / plan->bound_words;
}

TEST(squares_of_cubes_meet_the_bound) {
  for (int side = 2; side <= 5; side++) {
    const dm_machine machine = machine_of_rate(side * side * side, 1e30);
    dm_plan plan = divided(&shapes[SQUARE], &machine, (dm_wishes){0});
    assert_true(plan.pm == side && plan.pn == side && plan.pk == side);
    assert_true(ratio(&plan) <= NEAR);
  }
}

/* Products take time (60 TFLOP/s, no overlap), so that all ranks are worth using. */
TEST(long_shapes_meet_the_bound_everywhere) {
  for (int i = LARGE_K; i <= LARGE_M; i++)
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
      const dm_machine machine = machine_of_rate(ranks, 60e12);
      dm_plan plan = divided(&shapes[i], &machine, (dm_wishes){.no_overlap = true});
      if (!(ratio(&plan) <= NEAR))
        fail_msg("%s on %d ranks: %dx%dx%d receives %.4f of the bound", shapes[i].name, ranks,
                 plan.pm, plan.pn, plan.pk, ratio(&plan));
      assert_true(dm_plan_used(&plan) > ranks * 9 / 10);
    }
}

/* If nothing divides evenly the bound cannot be met; prints the distance. */
TEST(other_ratios_are_shown) {
  for (int i = 0; i < SHAPES; i += FLAT) {
    double worst = 0;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
      const dm_machine machine = machine_of_rate(ranks, 60e12);
      dm_plan plan = divided(&shapes[i], &machine, (dm_wishes){.no_overlap = true});
      worst = fmax(worst, ratio(&plan));
      print_message("%s %3d ranks: %dx%dx%d, %.3f of the bound\n", shapes[i].name, ranks, plan.pm,
                    plan.pn, plan.pk, ratio(&plan));
    }
    assert_true(worst < 2);
  }
}

RUN_ALL(test_plan_least_volume)
