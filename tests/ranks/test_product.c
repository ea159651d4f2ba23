/* ranks: 1 2 4 6. Products from every source to every sink, whole and in tiles, with layers and in
 * strips, twice each: exact in all cases. */
#include "small_product.h"

#include "engine/endpoint.h"
#include "engine/memory_source.h"
#include "engine/product.h"
#include "plan/choose.h"
#include "plan/tiles.h"

enum { M = 53, N = 41, K = 64 * 9 + 7, MOST_TILES = 6 };

/* The caller's data: all of op(A) and op(B), and this rank's parts of C. */
typedef struct caller {
  rank_test *test;
  double a[M][K], b[K][N], want[M][N];
  dm_rank_state *local;
  float c[MOST_TILES][M * N];
} caller;

static void fill(caller *c) {
  const dm_generated_source source = {{{.kind = DM_INTEGER, .seed = 5, .parameter = 8},
                                       {.kind = DM_INTEGER, .seed = 6, .parameter = 8}}};
  dm_fill(dm_view_row_major(c->a, DM_F64, M, K), &source.generators[DM_A], 0, 0);
  dm_fill(dm_view_row_major(c->b, DM_F64, K, N), &source.generators[DM_B], 0, 0);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      c->want[i][j] = 0;
      for (int k = 0; k < K; k++) c->want[i][j] += c->a[i][k] * c->b[k][j];
    }
}

static dm_view piece_of(void *context, const dm_rank_state *local, dm_matrix matrix,
                        int64_t panel) {
  caller *c = context;
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const dm_range cols = dm_rank_piece_cols(local, matrix, panel);
  const dm_view whole = matrix == DM_A ? dm_view_row_major(c->a, DM_F64, M, K)
                                       : dm_view_row_major(c->b, DM_F64, K, N);
  return dm_view_sub(whole, rows.begin, cols.begin, dm_range_size(rows), dm_range_size(cols));
}

static dm_view part_of(void *context, const dm_rank_state *local) {
  caller *c = context;
  dm_range rows;
  const dm_view sums = dm_rank_result(local, &rows);
  return dm_view_row_major(c->c[local->tile], DM_F32, sums.rows, sums.cols);
}

/* Checks C in the product's sink. */
static void check(caller *c, dm_rank_state *local, bool at_home, const char *what) {
  const dm_plan *plan = local->plan;
  for (int64_t t = 0; t < dm_plan_tiles(plan) && !local->coords.idle; t++) {
    dm_range rows;
    int64_t wrong = 0;
    dm_rank_turn_to(local, t);
    const dm_view sums = dm_rank_result(local, &rows);
    for (int64_t i = 0; i < sums.rows; i++)
      for (int64_t j = 0; j < sums.cols; j++) {
        const double want = c->want[rows.begin + i][local->cols.begin + j];
        const double got = at_home ? c->c[t][i * sums.cols + j] : *(double *)dm_view_at(sums, i, j);
        wrong += got != want;
      }
    CHECK(c->test, wrong == 0, "%s, grid %dx%dx%d, tile %lld: %lld elements are wrong", what,
          plan->pm, plan->pn, plan->pk, (long long)t, (long long)wrong);
  }
}

static void multiply(caller *c, const dm_plan *plan, bool from_memory, bool to_memory) {
  dm_setup setup = {.plan = *plan, .transport = dm_transport_find("host")};
  const dm_backend_config config = {.local_ranks = 1, .threads = 1, .kernel = "auto"};
  dm_generated_source generated = {{{.kind = DM_INTEGER, .seed = 5, .parameter = 8},
                                    {.kind = DM_INTEGER, .seed = 6, .parameter = 8}}};
  dm_memory_source memory = {.piece = piece_of, .context = c};
  dm_memory_sink sink = {.part = part_of, .context = c};
  must(c->test, dm_backend_open(&dm_backend_cpu, &config, &setup.backend));
  dm_product p = {.run = &c->test->run, .setup = &setup};
  p.source[DM_A] = from_memory ? (dm_source){&dm_source_memory, &memory}
                               : (dm_source){&dm_source_generated, &generated};
  p.source[DM_B] = p.source[DM_A];
  if (to_memory) p.sink = (dm_sink){&dm_sink_memory, &sink};
  must(c->test, dm_product_open(&p));
  for (int again = 0; again < 2; again++) {
    memset(c->c, 0x7f, sizeof c->c);
    must(c->test, dm_product_run(&p));
    check(c, &p.local, to_memory, from_memory ? "from memory" : "generated");
  }
  must(c->test, dm_product_load(&p)); /* again, with resident shares */
  memset(c->c, 0x7f, sizeof c->c);
  must(c->test, dm_product_run(&p));
  check(c, &p.local, to_memory, "loaded before");
  dm_product_close(&p);
  dm_backend_close(setup.backend);
}

/* Strips of more panels than the shortest layer has are an error, not read from before the first.
 */
static void refuse_long_strips(caller *c, dm_plan plan) {
  const dm_backend_config config = {.local_ranks = 1, .threads = 1, .kernel = "auto"};
  dm_backend *backend;
  dm_rank_state local;
  plan.stretch = plan.panels / plan.pk + 1;
  must(c->test, dm_backend_open(&dm_backend_cpu, &config, &backend));
  dm_status status = dm_rank_open(&c->test->run, &plan, backend, NULL, &local);
  CHECK(c->test, status && status->code == DM_E_BUG, "strips of %lld panels were accepted",
        (long long)plan.stretch);
  dm_status_free(status);
  dm_rank_close(&local);
  dm_backend_close(backend);
}

/* In all ways that PLAN allows: with tiles blocks keep no results. */
static void try_plan(caller *c, dm_wishes wishes, bool strips) {
  dm_problem problem = product_problem(M, N, K, DM_F64);
  const dm_machine machine = one_node(c->test, NULL, false);
  dm_plan plan;
  problem.verify = false;
  dm_problem_set_home(&problem, DM_HOME_FILE); /* these may use tiles */
  must(c->test, dm_plan_choose(&problem, &machine, c->test->run.ranks, &wishes, &plan));
  if (strips && plan.strips == 0 && plan.pm == 1 && plan.pn == 1 && plan.overlap) {
    plan.strips = 2;
    plan.stretch = dm_min(2, plan.panels / plan.pk); /* every layer has as many */
    refuse_long_strips(c, plan);
  }
  for (int from = 0; from < 2; from++)
    for (int to = dm_plan_tiles(&plan) > 1; to < 2; to++) multiply(c, &plan, from, to);
}

TEST_PROGRAM(test_product) {
  rank_test test = rank_test_start();
  const int ranks = test.run.ranks;
  caller *c = memory_of(&test, sizeof *c);
  c->test = &test;
  fill(c);
  for (int pm = 1; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks; pk++)
        try_plan(c, (dm_wishes){.pm = pm, .pn = pn, .pk = pk, .panel = 64, .no_overlap = pn == 3},
                 true);
  try_plan(c, (dm_wishes){.panel = 128, .ramp = {64}}, false);
  try_plan(c, (dm_wishes){.panel = 128, .tiles_m = 2, .tiles_n = 3, .pk = 1}, false);
  try_plan(
      c,
      (dm_wishes){.panel = 64, .tiles_m = 3, .tiles_n = 1, .down = true, .pk = ranks > 1 ? 2 : 1},
      false);
  free(c);
  return rank_test_end(&test);
}
