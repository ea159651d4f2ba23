/* The largest product that fills a given part of the memory. */
#include "plan/choose.h"
#include "plan_cases.h"

static dm_status filled(int64_t n, const char *machine_text, double part) {
  dm_problem problem = problem_of(n, n, n, DM_F64);
  dm_machine machine = machine_of(machine_text);
  const dm_wishes none = {0};
  dm_plan plan;
  dm_problem_set_home(&problem, DM_HOME_SHARES);
  machine.host_bytes = (int64_t)((double)machine.host_bytes * part);
  machine.device_bytes = (int64_t)((double)machine.device_bytes * part);
  return dm_plan_choose(&problem, &machine, 4, &none, &plan);
}

TEST(fills_and_no_more) {
  static const char *const machines[] = {"ranks=4 memory=8GiB",
                                         "gpu=h200 gpus=4 links=device memory=256GiB"};
  for (int i = 0; i < 2; i++)
    for (int part = 1; part <= 4; part += FEWER) {
      const double fill = part / 4.0;
      const dm_problem problem = problem_of(1, 1, 1, DM_F64);
      dm_problem in_memory = problem;
      const dm_machine machine = machine_of(machines[i]);
      const dm_wishes none = {0};
      int64_t n;
      dm_problem_set_home(&in_memory, DM_HOME_SHARES);
      ok(dm_plan_fill(&in_memory, &machine, 4, &none, fill, &n));
      assert_true(n % 64 == 0);
      ok(filled(n, machines[i], fill));
      fails(filled(n + 64, machines[i], fill), DM_E_FIT, "needs");
    }
}

TEST(what_cannot_be_filled_is_refused) {
  const dm_problem problem = problem_of(1, 1, 1, DM_F64);
  dm_machine machine = machine_of("ranks=4");
  const dm_wishes none = {0}, large = {.pm = 5};
  int64_t n;
  fails(dm_plan_fill(&problem, &machine, 4, &none, 0.8, &n), DM_E_USAGE, "no memory limit");
  machine.host_bytes = 4096;
  fails(dm_plan_fill(&problem, &machine, 4, &none, 0.8, &n), DM_E_FIT, "needs");
  machine.host_bytes = 1 << 30;
  fails(dm_plan_fill(&problem, &machine, 4, &large, 0.8, &n), DM_E_USAGE, "more than the 4");
}

RUN_ALL(test_plan_filling)
