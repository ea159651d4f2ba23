/* First example of src/backend: the CPU's backend multiplies two matrices in host memory. */
#include "backend/backend.h"
#include "backend/cpu.h"
#include "checks.h"
#include "core/compute.h"

TEST(first_gemm) {
  double a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}}, c[2][2];
  const double wanted[2][2] = {{4, 5}, {10, 11}};
  const dm_backend_config config = {.local_ranks = 1,
                                    .threads = 1,
                                    .compute = dm_compute_by((dm_operand)DM_F64),
                                    .kernel = "auto"};
  dm_backend *cpu;
  dm_event done;
  ok(dm_backend_open(&dm_backend_cpu, &config, &cpu));
  ok(dm_backend_gemm(cpu, dm_view_row_major(c, DM_F64, 2, 2), dm_view_row_major(a, DM_F64, 2, 3),
                     dm_view_row_major(b, DM_F64, 3, 2), false, &done));
  ok(dm_backend_wait(cpu, done));
  assert_memory_equal(c, wanted, sizeof c);
  dm_backend_close(cpu);
}

RUN_ALL(test_first_backend)
