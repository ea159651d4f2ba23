/* Recipe and hash of a plan. */
#include "plan/plan_text.h"
#include "plan_cases.h"

TEST(recipe_names_what_decides_the_bits) {
  char recipe[DM_RECIPE];
  dm_machine machine = machine_of("ranks=4");
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  dm_plan plan =
      planned(&problem, &machine, 4, (dm_wishes){.pm = 2, .pn = 2, .pk = 1, .panel = 512});
  dm_plan_recipe(&plan, recipe);
  assert_string_equal(recipe, "grid=2x2x1 kb=512 end=1x8 work=f64 sums=f64 c=f64");
  strcpy(plan.kernel, "own:0123456789abcdef");
  dm_plan_recipe(&plan, recipe);
  assert_string_equal(
      recipe, "grid=2x2x1 kb=512 end=1x8 work=f64 sums=f64 c=f64 kernel=own:0123456789abcdef");
}

/* A reproducible product has the same recipe for any number of ranks. */
TEST(reproducible_recipe_is_of_the_problem_alone) {
  char first[DM_RECIPE] = "", recipe[DM_RECIPE];
  dm_machine machine = machine_of("ranks=8");
  dm_problem problem = problem_of(700, 4096, 100, DM_F32);
  problem.compute = *dm_compute_by(DM_TF32);
  for (int ranks = 1; ranks <= 8; ranks++) {
    dm_plan plan = planned(&problem, &machine, ranks, (dm_wishes){.reproducible = true});
    dm_plan_recipe(&plan, recipe);
    if (ranks == 1) strcpy(first, recipe);
    assert_string_equal(recipe, first);
  }
  assert_string_equal(first, "border=256 kb=512 work=tf32 sums=f32 c=f32");
}

/* Whether the hash of OTHER differs from that of the chosen plan. */
static bool differs(const dm_plan *plan, dm_plan other) {
  return dm_plan_hash(&other) != dm_plan_hash(plan);
}

TEST(hash_sees_every_decision) {
  dm_machine machine = machine_of("ranks=4");
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  const dm_plan plan = planned(&problem, &machine, 4, (dm_wishes){0});
  dm_plan panel = plan, kernel = plan, slots = plan, size = plan, overlap = plan;
  panel.kb += 64;
  strcpy(kernel.kernel, "cublas");
  slots.slots++;
  size.problem.m++;
  overlap.overlap ^= true;
  assert_false(differs(&plan, plan));
  assert_true(differs(&plan, panel) && differs(&plan, kernel) && differs(&plan, slots));
  assert_true(differs(&plan, size) && differs(&plan, overlap));
}

RUN_ALL(test_plan_identity)
