/* Exponents of residues: elements of unlike size are refused, of a large product by its first
 * lines. */
#include "backend/backend.h"
#include "backend/cpu.h"
#include "checks.h"
#include "comm/comm.h"
#include "engine/scaling.h"

enum { LINES = 6600, K = 6600 }; /* more than 2^38 operations */

static double *line_of(bool unlike) {
  double *line = malloc(K * sizeof *line);
  assert_non_null(line);
  for (int64_t l = 0; l < K; l++)
    line[l] =
        (1.0 + (double)(l % 977) / 977.0) * (unlike ? ldexp(1.0, (int)(l * 37 % 160) - 80) : 1.0);
  return line;
}

/* Whether A and B, all of whose rows and columns have the memory of LINE, are unfit for f64:int8.
 */
static bool unfit(double *line, int64_t lines, double *factor) {
  dm_compute_choice choice;
  dm_comm *comm;
  dm_backend *cpu;
  dm_scaling scaling = {0};
  dm_problem problem = {.m = lines, .n = lines, .k = K, .work = DM_F64, .accumulator = DM_F64};
  const dm_view row = dm_view_row_major(line, DM_F64, 1, K);
  dm_view a = row, b = dm_view_transpose(row);
  a.rows = lines, a.row_stride = 0;
  b.cols = lines, b.col_stride = 0;
  const dm_scaled_part ab[2] = {{a, 0, 0}, {b, 0, 0}};
  assert_true(dm_compute_parse("f64:int8", &choice));
  ok(dm_compute_choose(choice, DM_F64, K, &problem.compute));
  ok(dm_comm_take_alone(&comm));
  ok(dm_backend_open(&dm_backend_cpu, &(dm_backend_config){.threads = 1, .kernel = "auto"}, &cpu));
  ok(dm_scale_parts(cpu, comm, &problem, ab, &scaling));
  const bool result = scaling.unfit;
  *factor = scaling.factor;
  dm_scaling_close(&scaling, cpu);
  dm_backend_close(cpu);
  dm_comm_stop(comm);
  return result;
}

TEST(test_unlike_lines) {
  double few, all, like;
  double *unlike = line_of(true), *alike = line_of(false);
  assert_true(unfit(unlike, 100, &few)); /* all lines are looked at */
  assert_true(unfit(unlike, LINES, &all));
  assert_true(few == all);
  assert_false(unfit(alike, LINES, &like));
  free(unlike), free(alike);
}

RUN_ALL(test_engine_scaling)
