/* The width of panels: on a CPU only as wide as products benefit. */
#include "plan/grid_cost.h"
#include "plan/plan_text.h"
#include "plan/volume.h"
#include "plan_cases.h"

static double of_width(double width, bool gpu) {
  return dm_product_efficiency(2000, 2000, width, gpu);
}

TEST(slices_bound_what_width_brings) {
  assert_true(of_width(128, false) < of_width(256, false));
  assert_true(of_width(256, false) < of_width(384, false));
  assert_true(of_width(512, false) == of_width(256, false)); /* two equal slices */
  for (int slices = 1; slices < 9; slices++)
    assert_true(of_width(384.0 * slices, false) == of_width(384, false));
  for (double width = 64; width < 8192; width *= 2)
    assert_true(of_width(width, true) < of_width(2 * width, true));
}

TEST(panels_of_a_cpu_are_narrow) {
  const dm_wishes none = {0}, square = {.pm = 2, .pn = 2, .pk = 1};
  assert_true(planned_8192("ranks=4 links=host", false, square).kb <= 384);
  assert_true(planned_8192("nodes=4", false, square).kb <= 384);
  assert_true(planned_8192("", true, none).kb <= 384);
  assert_true(planned_8192("ranks=4", true, none).kb <= 384);
  assert_true(planned_8192("ranks=4 cores=32", true, none).kb <= 384); /* shared or slow memory */
  assert_true(planned_8192("gpu=h200 gpus=4 links=device", false, square).kb > 384);
  const dm_wishes same = {.reproducible = true}, wide = {.panel = 1024};
  assert_int_equal(planned_8192("ranks=4", true, same).kb, 512);
  assert_int_equal(planned_8192("ranks=4", true, wide).kb, 1024);
}

/* The first product of a GPU does not wait for all of A and B in host memory. */
TEST(panels_arrive_from_host_memory) {
  const dm_machine machine = machine_of("gpu=h100 gpus=1");
  dm_problem problem = problem_of(16384, 16384, 16384, DM_F64);
  for (int from_host = 0; from_host < 2; from_host++) {
    dm_problem_set_home(&problem, from_host ? DM_HOME_HOST : DM_HOME_SHARES);
    const dm_plan plan = planned(&problem, &machine, 1, (dm_wishes){0});
    assert_true(from_host ? plan.panels >= 8 : plan.panels == 1);
  }
}

/* Many cores with a memory rate for few: the rate of products includes the passes over C. */
TEST(passes_over_c_are_not_counted_twice) {
  const dm_machine machine = machine_of("cores=32");
  dm_plan plan = planned_8192("cores=32", false, (dm_wishes){0});
  const double whole = dm_plan_forecast(&plan, &machine).gemm;
  plan.kb = 384;
  plan.panels = (plan.problem.k + plan.kb - 1) / plan.kb;
  assert_true(dm_plan_forecast(&plan, &machine).gemm < 1.02 * whole);
  plan.kb = 64;
  plan.panels = plan.problem.k / plan.kb;
  assert_true(dm_plan_forecast(&plan, &machine).gemm > 1.5 * whole);
}

/* A product cannot start before all data that are read together with its panels have arrived. */
TEST(reading_begins_with_what_is_read_together) {
  const dm_wishes one = {.pm = 1, .pn = 1, .pk = 1};
  const dm_machine machine = machine_of("read=0.5");
  dm_plan plan = planned_8192("read=0.5", true, one);
  const double reading_a = 8.0 * 8192 * 8192 / 0.5e9;
  const double together = dm_plan_together(&plan, DM_A); /* rows of 64 KiB: half of each */
  assert_true(together >= 0.5 && together < 0.6);
  assert_true(dm_plan_together(&plan, DM_B) < 0.1);
  plan.strips = 0;
  dm_forecast f = dm_plan_forecast(&plan, &machine);
  assert_true(f.total > f.gemm + together * reading_a + f.write);
  plan.problem.op_a = DM_OP_T; /* panels are consecutive */
  assert_true(dm_plan_together(&plan, DM_A) < 0.1);
  f = dm_plan_forecast(&plan, &machine);
  assert_true(f.total < f.gemm + 0.2 * reading_a + f.write);
}

/* C in memory: its pages are cleared while the GPU starts, reads and multiplies; the rest of that
 * time is waited for. */
TEST(new_pages_are_waited_for) {
  const dm_wishes one = {.pm = 1, .pn = 1, .pk = 1};
  dm_machine machine = machine_of("gpu=h200 read=45 write=15");
  dm_problem problem = problem_of(32768, 32768, 32768, DM_F64);
  const dm_plan without = planned(&problem, &machine, 1, one);
  machine.pages_now = 5e9;
  dm_plan with = planned(&problem, &machine, 1, one);
  assert_true(with.forecast.total > without.forecast.total + 0.1);
  assert_true(with.forecast.total < without.forecast.total + 8.6e9 / 5e9);
  assert_true(with.kb == without.kb && with.strips == without.strips);
  machine.pages_since = 2;
  with = planned(&problem, &machine, 1, one);
  assert_true(with.forecast.total == without.forecast.total);
}

/* Where rows of A are long, panels of a narrow type are wide. */
TEST(few_panels_are_read_together) {
  const dm_wishes one = {.pm = 1, .pn = 1, .pk = 1};
  dm_machine machine = machine_of("gpu=h200 read=45 write=15");
  const dm_problem problem = problem_of(16384, 16384, 262144, DM_BF16);
  const dm_plan plan = planned(&problem, &machine, 1, one);
  assert_true(8 * plan.kb * 2 >= dm_plan_run_wanted(&plan));
  assert_true(plan.kb <= 8192);
}

/* Knowledge of the cores changes the forecast, not the plan. */
TEST(cores_as_they_are_change_no_plan) {
  dm_machine machine = machine_of("ranks=4 cores=2");
  const dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  const dm_plan stated = planned(&problem, &machine, 4, (dm_wishes){0});
  machine.speed_now = 2;
  const dm_plan faster = planned(&problem, &machine, 4, (dm_wishes){0});
  assert_true(faster.forecast.gemm < 0.6 * stated.forecast.gemm);
  assert_true(dm_plan_hash(&stated) == dm_plan_hash(&faster));
}

RUN_ALL(test_plan_widths)

/* Symmetric products of elements that are short in their file, such as genotypes, do not keep them.
 */
TEST(short_elements_pass) {
  const dm_machine machine = machine_of("");
  const dm_wishes none = {0}, tiles = {.tile_seconds = 1e-6}, same = {.reproducible = true};
  dm_problem problem = problem_of(2000, 2000, 500000, DM_F64);
  problem.symmetry = DM_SYMMETRIC;
  problem.op_a = DM_OP_T;
  assert_int_equal(planned(&problem, &machine, 1, none).a, DM_IN_HOST);
  problem.file_a = problem.file_b = DM_I8;
  const dm_plan plan = planned(&problem, &machine, 1, none);
  assert_true(plan.a == DM_IN_FILE && plan.b == DM_IN_FILE && plan.kb == 384 && plan.tiles_m == 1);
  assert_true(dm_triangle_reads_once(&plan, DM_A));
  assert_int_equal(planned(&problem, &machine, 1, same).a, DM_IN_HOST);
  assert_int_equal(planned(&problem, &machine, 1, tiles).a, DM_IN_HOST);
  assert_int_equal(planned(&problem, &machine, 2, none).a, DM_IN_HOST);
  problem.k = 384;
  assert_int_equal(planned(&problem, &machine, 1, none).a, DM_IN_HOST);
}
