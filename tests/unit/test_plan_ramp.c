/* The narrow first panels of layers between GPUs. */
#include "plan/buffers.h"
#include "plan/complete.h"
#include "plan_cases.h"
#include "steps/simulate.h"

/* The first panel of each layer may be narrower than the others. */
TEST(narrow_panels_lead_every_layer) {
  dm_plan plan = {.problem = problem_of(10, 10, 1000, DM_F64),
                  .pm = 2,
                  .pn = 1,
                  .pk = 3,
                  .kb = 192,
                  .ramp = {64},
                  .panels = 8,
                  .tiles_m = 1,
                  .tiles_n = 1}; /* 64 192 192, 64 192 192, 64 40 */
  const int64_t begins[] = {0, 64, 256, 448, 512, 704, 896, 960, 1000};
  for (int64_t p = 0; p < 8; p++) {
    assert_int_equal(dm_plan_panel(&plan, p).begin, begins[p]);
    assert_int_equal(dm_plan_panel(&plan, p).end, begins[p + 1]);
  }
  assert_int_equal(dm_plan_layer_k(&plan, 1).begin, 448);
  assert_int_equal(dm_plan_layer_k(&plan, 2).begin, 896);
  assert_int_equal(dm_plan_b_share_rows(&plan, 0, 0), 32 + 96 + 96);
  assert_int_equal(dm_plan_b_share_rows(&plan, 1, 2), 32 + 20);
  assert_int_equal(dm_plan_b_share_most(&plan, 0), 96);
  plan.ramp[1] = 128;
  plan.panels = dm_panels_of(1000, 3, 192, plan.ramp);
  assert_int_equal(plan.panels, 9); /* 64 128 192, 64 128 192, 64 128 40 */
  assert_int_equal(dm_plan_panel(&plan, 4).begin, 384 + 64);
  assert_int_equal(dm_plan_panel(&plan, 8).begin, 960);
  assert_int_equal(dm_plan_b_share_rows(&plan, 1, 0), 32 + 64 + 96);
  assert_int_equal(dm_plan_b_share_rows(&plan, 1, 2), 32 + 64 + 20);
}

/* The transfer of the first panel, which nothing hides, is short, and memory is counted for all
 * panels. */
TEST(a_narrow_panel_leads_between_gpus) {
  const char *words = "gpu=h200 gpus=4 links=device";
  const dm_machine machine = machine_of(words);
  const dm_wishes square = {.pm = 2, .pn = 2, .pk = 1};
  const dm_plan led = planned_8192(words, false, square);
  assert_true(led.ramp[0] >= 512 && led.ramp[0] < led.kb / 2);
  ok(dm_plan_simulate(&led));
  dm_wishes even = square;
  even.panel = led.kb;
  const dm_plan without = planned_8192(words, false, even);
  assert_int_equal(without.ramp[0], 0);
  assert_true(led.forecast.exposed < without.forecast.exposed / 2);
  assert_true(led.forecast.total < without.forecast.total);
  assert_true(dm_plan_pressure(&led, &machine) <= 1);
  const dm_wishes stated = {.pm = 2, .pn = 2, .pk = 1, .panel = 1024, .ramp = {256, 512}};
  const dm_plan files = planned_8192(words, true, stated);
  assert_true(files.ramp[0] == 256 && files.ramp[1] == 512 && files.kb == 1024);
  ok(dm_plan_simulate(&files));
  even.panel = 0;
  even.no_overlap = true;
  assert_int_equal(planned_8192(words, false, even).ramp[0], 0);
  even.no_overlap = false;
  even.reproducible = true;
  assert_int_equal(planned_8192(words, false, even).ramp[0], 0);
}

/* Large products on GPUs that read each other's memory, some with requested panels. */
TEST(plans_with_leads_multiply) {
  dice d = {.seed = 77};
  int plans[DM_RAMP + 1] = {0};
  for (int i = 0; i < 1000; i++) {
    const int ranks = (int)roll(&d, 2, 12);
    dm_problem problem = problem_of(roll(&d, 500, 40000), roll(&d, 500, 40000),
                                    roll(&d, 500, 40000), (dm_dtype)roll(&d, 0, DM_I8));
    dm_problem_set_home(&problem, DM_HOME_SHARES);
    dm_machine machine = machine_of("gpu=h200 links=device");
    machine.ranks_per_node = ranks;
    dm_wishes wishes = {.from_device = true};
    if (roll(&d, 0, 1)) wishes.pk = (int)roll(&d, 1, ranks);
    if (roll(&d, 0, 3) == 0)
      wishes.panel = DM_PANEL_STEP * roll(&d, 2, 40), wishes.ramp[0] = DM_PANEL_STEP,
      wishes.ramp[1] = DM_PANEL_STEP * roll(&d, 0, 2);
    const dm_plan plan = planned(&problem, &machine, ranks, wishes);
    ok(dm_plan_simulate(&plan));
    plans[dm_plan_ramp_count(plan.ramp)]++;
  }
  assert_true(plans[0] > 100 && plans[1] > 100 && plans[2] > 100);
}

/* Panels that tensor cores sum up are no longer than their sums are right. */
TEST(panels_have_right_sums) {
  static const char *const machines[] = {"gpu=h200 links=device", "gpu=h200 links=host"};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    for (int64_t piece = 0; piece <= 3072; piece += 1536) {
      dm_problem problem = problem_of(4096, 4096, 1 << 20, DM_BF16);
      problem.compute.piece = piece;
      const dm_machine machine = machine_of(machines[i]);
      const dm_plan plan = planned(&problem, &machine, 1, (dm_wishes){0});
      if (piece > 0) assert_true(plan.kb <= piece);
      const dm_wishes wide = {.panel = 4096};
      dm_plan stated;
      dm_status status = dm_plan_choose(&problem, &machine, 1, &wide, &stated);
      if (piece == 0)
        ok(status);
      else
        fails(status, DM_E_USAGE, "cut off");
    }
}

RUN_ALL(test_plan_ramp)
