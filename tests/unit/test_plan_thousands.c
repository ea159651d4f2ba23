/* Memory of planning for thousands of ranks. */
#include "core/buffer.h"
#include "plan_cases.h"

/* Shapes of the published comparisons (COSMA, CA3DMM). */
static const int64_t shapes[][3] = {
    {50000, 50000, 50000}, {6000, 6000, 1200000}, {1200000, 6000, 6000}, {100000, 100000, 5000}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Planning for 4096 ranks takes no more memory than for 8. */
TEST(thousands_of_ranks_take_no_memory) {
  int64_t peak[2];
  for (int many = 0; many < 2; many++) {
    for (int i = 0; i < SHAPES; i++) {
      dm_machine machine = machine_of(many ? "gpu=h200 gpus=8 links=device nodes=512"
                                           : "gpu=h200 gpus=8 links=device nodes=1");
      dm_problem problem = problem_of(shapes[i][0], shapes[i][1], shapes[i][2], DM_F64);
      (void)planned(&problem, &machine, many ? 4096 : 8, (dm_wishes){0});
    }
    peak[many] = dm_memory_own_peak();
  }
  assert_true(peak[0] > 0);
#ifndef __SANITIZE_ADDRESS__ /* sanitizers keep freed memory */
  assert_true(peak[1] - peak[0] < 1 << 20);
#endif
}

RUN_ALL(test_plan_thousands)
