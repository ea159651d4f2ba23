/* The planner's runs are those that a rank would read. */
#include <math.h>

#include "plan/buffers.h"
#include "plan/grid_cost.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"
#include "plan_cases.h"

enum { LONG = 1 << 17, SHORT = 1 << 15 };

/* A file of rows x cols, and the rectangle that is read at once. */
typedef struct reading {
  int64_t cols;
  dm_range down, across;
  int64_t depth; /* of k */
} reading;

/* The first read of rank (0, 0, 0) from MATRIX, with panels joined like in engine/dataset_source.c.
 */
static reading first_reading(const dm_plan *p, dm_matrix x) {
  const dm_problem *problem = &p->problem;
  const bool plain = (x == DM_A ? problem->op_a : problem->op_b) == DM_OP_N;
  const dm_range band = x == DM_A ? dm_plan_a_share(p, 0, 0, 0) : dm_plan_cols(p, 0, 0);
  const dm_range layer = dm_plan_layer(p, 0);
  const int64_t first = dm_plan_ramp_count(p->ramp); /* of full width */
  dm_range depth = x == DM_A ? dm_plan_panel(p, first) : dm_plan_b_share(p, first, 0);
  const bool beside = (x == DM_A) == plain;
  const int64_t quarter = dm_range_size(dm_plan_layer_k(p, 0)) * dm_dtype_size(problem->work) / 4;
  const int64_t wanted = quarter > LONG ? LONG : quarter < SHORT ? SHORT : quarter;
  for (int64_t q = first + 1; beside && q < layer.end; q++) {
    const dm_range next = x == DM_A ? dm_plan_panel(p, q) : dm_plan_b_share(p, q, 0);
    const int64_t bytes = dm_range_size(depth) * dm_dtype_size(problem->work);
    if (dm_plan_residence(p, x) == DM_IN_FILE || bytes >= wanted || next.begin != depth.end) break;
    depth.end = next.end;
  }
  const int64_t width = x == DM_A ? problem->m : problem->n;
  return beside ? (reading){problem->k, band, depth, dm_range_size(depth)}
                : (reading){width, depth, band, dm_range_size(depth)};
}

/* Contiguous bytes from its first element on, found element by element. */
static int64_t first_run(const reading *r, int64_t size) {
  int64_t count = 0, place = r->down.begin * r->cols + r->across.begin;
  for (int64_t row = r->down.begin; row < r->down.end; row++)
    for (int64_t col = r->across.begin; col < r->across.end; col++, count++)
      if (row * r->cols + col != place + count) return count * size;
  return count * size;
}

TEST(runs_are_those_of_the_readings) {
  dice d = {.seed = 11};
  int found[3] = {0, 0, 0};
  for (int i = 0; i < 600; i++) {
    const int ranks = (int)roll(&d, 1, 12);
    dm_problem problem = problem_of(roll_size(&d, 3000), roll_size(&d, 3000),
                                    roll(&d, 0, 3) ? roll_size(&d, 3000) : roll(&d, 1, 70000),
                                    (dm_dtype)roll(&d, 0, DM_I8));
    problem.op_a = (dm_op)roll(&d, 0, 2);
    problem.op_b = (dm_op)roll(&d, 0, 2);
    const dm_machine machine = roll_machine(&d, ranks);
    dm_plan plan = planned(&problem, &machine, ranks, roll_wishes(&d, ranks));
    if (roll(&d, 0, 2) == 0) plan.a = DM_IN_FILE; /* as if memory were short */
    if (roll(&d, 0, 2) == 0) plan.b = DM_IN_FILE;
    for (int x = 0; x < 2; x++) {
      const reading r = first_reading(&plan, (dm_matrix)x);
      const int64_t size = dm_dtype_size(x == DM_A ? problem.file_a : problem.file_b);
      const int64_t run = first_run(&r, size);
      if ((double)run != dm_plan_run(&plan, (dm_matrix)x))
        fail_msg("case %d, matrix %d: %lld bytes, not %g", i, x, (long long)run,
                 dm_plan_run(&plan, (dm_matrix)x));
      const int64_t all =
          x == DM_A ? dm_range_size(dm_plan_layer_k(&plan, 0)) : dm_plan_b_share_rows(&plan, 0, 0);
      assert_true(dm_plan_together(&plan, (dm_matrix)x) == (double)r.depth / (double)all);
      found[dm_plan_residence(&plan, (dm_matrix)x)]++;
    }
  }
  assert_true(found[DM_IN_HOST] > 50 && found[DM_IN_DEVICE] > 50 && found[DM_IN_FILE] > 50);
}

static dm_plan on_slow_files(dm_problem problem, const char *words) {
  const dm_machine machine = machine_of(words);
  return planned(&problem, &machine, machine.ranks_per_node, (dm_wishes){0});
}

/* B by rows: whole rows; B transposed: whole rows are columns of op(B), so k is not divided. */
TEST(grids_that_read_long_runs_win) {
  dm_problem problem = problem_of(4096, 4096, 4096, DM_F64);
  const char *const slow = "ranks=4 read=0.2";
  dm_plan plan = on_slow_files(problem, slow);
  assert_true(plan.pn == 1);
  problem.op_b = DM_OP_T;
  plan = on_slow_files(problem, slow);
  assert_true(plan.pm == 1 && plan.pn > 1);
  problem.op_b = DM_OP_N;
  problem.chunk_a = problem.chunk_b = 1 << 20; /* chunks are equal for all grids */
  plan = on_slow_files(problem, slow);
  assert_true(plan.pm == 2 && plan.pn == 2);
}

/* Not if the cost is unknown: all of a large machine works. */
TEST(nodes_are_not_left_idle_for_runs) {
  dm_problem problem = problem_of(50000, 50000, 50000, DM_F64);
  dm_machine machine = machine_of("gpu=h200 gpus=8 links=device nodes=512");
  const dm_plan plan = planned(&problem, &machine, 4096, (dm_wishes){0});
  assert_true(dm_plan_used(&plan) > 3000);
}

/* Data that each tile reads again use wide panels, and few reads. */
TEST(panels_in_the_file_are_wide) {
  const dm_problem problem = problem_of(20000, 20000, 20000, DM_F64);
  const dm_plan plan = on_slow_files(problem, "memory=900MiB read=0.5");
  assert_true(dm_plan_streams(&plan) && dm_plan_run(&plan, DM_A) >= 4096);
  assert_true(plan.file_words < 1.3 * plan.file_bound_words);
  dm_plan narrow = plan;
  narrow.kb = DM_PANEL_STEP;
  narrow.panels = (problem.k + narrow.kb - 1) / narrow.kb;
  narrow.held_a = narrow.held_b = 0;
  const dm_machine machine = machine_of("read=0.5");
  assert_true(dm_plan_forecast(&narrow, &machine).read > 2 * plan.forecast.read);
}

/* If products by residues stream, all of k is read before the first one: once if pieces contain
 * whole rows of A or columns of B. The plan counts elements, memory and time. */
TEST(residues_read_ahead) {
  dm_problem problem = problem_of(20000, 20000, 20000, DM_F64);
  const dm_problem plain = problem;
  const dm_machine machine = machine_of("memory=900MiB read=0.5");
  ok(product_compute("f64:int8", &problem));
  const dm_plan plan = on_slow_files(problem, "memory=900MiB read=0.5");
  assert_true(dm_plan_streams(&plan));
  assert_int_equal(dm_plan_readings_ahead(&plan, DM_A), 1);
  assert_int_equal(dm_plan_readings_ahead(&plan, DM_B), 2);
  assert_true(dm_plan_words_ahead(&plan, DM_B) == 2 * 20000.0 * 20000.0);
  dm_plan other = plan;
  other.problem.compute = plain.compute;
  assert_true(dm_plan_words_ahead(&other, DM_A) == 0 && dm_plan_words_ahead(&other, DM_B) == 0);
  const dm_forecast with = dm_plan_forecast(&plan, &machine);
  const dm_forecast without = dm_plan_forecast(&other, &machine);
  const double seconds = 3 * 20000.0 * 20000.0 * 8 / machine.file_read;
  assert_true(fabs(with.read - without.read - seconds) < 1e-6 * seconds);
  dm_buffers list;
  dm_plan_buffers(&plan, (dm_coords){0}, &list);
  assert_int_equal(list.of[DM_BUFFER_PASS].bytes, 2 * dm_plan_pass_bytes(&plan, DM_A));
  assert_int_equal(dm_plan_pass_bytes(&plan, DM_A), 32 << 20);
  other = plan;
  other.problem.op_b = DM_OP_T;
  other.problem.chunk_a = 1 << 20;
  assert_int_equal(dm_plan_readings_ahead(&other, DM_A), 2);
  assert_int_equal(dm_plan_readings_ahead(&other, DM_B), 1);
  other.a = other.b = DM_IN_HOST;
  assert_int_equal(dm_plan_readings_ahead(&other, DM_A), 0);
}

TEST(short_runs_cost_what_was_measured) {
  /* bytes, from the page cache, from a disk: medians of docs/results/read_strips.txt */
  static const double measured[][3] = {
      {1 << 10, 8.5, 39}, {1 << 13, 2.0, 4.3}, {1 << 15, 1.2, 1.9}};
  for (size_t i = 0; i < 3; i++) {
    const double factor = dm_run_factor(measured[i][0]);
    assert_true(measured[i][1] < factor && factor < measured[i][2]);
  }
  assert_true(dm_run_factor(1 << 17) == 1 && dm_run_factor(1e12) == 1);
}

RUN_ALL(test_plan_runs)
