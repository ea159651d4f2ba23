/* First example of src/engine: two generated matrices are multiplied by one rank, without files. */
#include "checks.h"
#include "core/element.h"
#include "engine/product.h"
#include "lib/product_problem.h"

TEST(first_product) {
  enum { N = 3 };
  const dm_engine_options options = {
      .backend = "cpu", .kernel = "auto", .transport = "auto", .threads = 1};
  const dm_problem problem = product_problem(N, N, N, DM_F64);
  dm_generated_source random = dm_generated_random(&problem, 1);
  const dm_source source = {&dm_source_generated, &random};
  double a[N][N], b[N][N];
  dm_fill(dm_view_row_major(a, DM_F64, N, N), &random.generators[DM_A], 0, 0);
  dm_fill(dm_view_row_major(b, DM_F64, N, N), &random.generators[DM_B], 0, 0);
  dm_comm *world;
  dm_run run = {0};
  dm_setup setup;
  ok(dm_comm_take_alone(&world));
  ok(dm_run_start_in(&run, world, "test"));
  ok(dm_setup_open(&run, &options, &problem, &setup)); /* chooses a plan */
  dm_product product = {.run = &run, .setup = &setup, .source = {source, source}};
  ok(dm_product_open(&product));
  ok(dm_product_run(&product));
  dm_range rows;
  const dm_view c = dm_rank_result(&product.local, &rows); /* without a sink it stays here */
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0.0;
      for (int l = 0; l < N; l++) sum += a[i][l] * b[l][j];
      assert_true(fabs(*(double *)dm_view_at(c, i, j) - sum) < 1e-14);
    }
  dm_product_close(&product);
  dm_setup_close(&setup);
  dm_run_leave(&run);
}

RUN_ALL(test_first_engine)
