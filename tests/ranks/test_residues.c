/* ranks: 1 2 3 4 6 8. Products of f64 and c128 by residues have the bits of an exact sum, rounded
 * once: on every grid, with any panels, layers, tiles and strips, and in resumed runs. */
#include <math.h>

#include "exact_residues.h"
#include "stored_product.h"

/* ---- what the engine computes ---- */

static dm_problem problem_of(rank_test *test, int turn, int64_t k) {
  static const char *const choices[] = {"f64:int8:15", "f64:int8:14", "f64:int8:13"};
  const dm_dtype work = turn % 4 == 1 || turn % 7 == 0 ? DM_C128 : DM_F64;
  dm_problem problem = product_problem(37 + turn % 5, 29 + turn % 3, k, work);
  must(test, product_compute(choices[turn % 3], &problem));
  return problem;
}

static void multiply(rank_test *test, int turn, dm_wishes wishes, int strips, int64_t done) {
  static const int64_t panels[] = {64, 128, 192, 320};
  static const dm_kind kinds[] = {DM_UNIFORM, DM_HILBERT, DM_INTEGER, DM_IDENTITY};
  dm_problem problem = problem_of(test, turn, 64 * 4 + 5 + turn % 7);
  const dm_machine machine = one_node(test, NULL, strips > 0); /* strips keep gathered panels */
  wishes.panel = wishes.reproducible ? 0 : strips > 0 ? 64 : panels[turn % 4];
  product p = product_open_on(test, &machine, problem, wishes, kinds[turn % 4], 5 + (uint64_t)turn);
  CHECK(test, !dm_plan_streams(&p.plan), "%lld tiles", (long long)dm_plan_tiles(&p.plan));
  double *expected = expected_of(test, &p);
  product_store(&p, strips, done, same_bits, expected);
  free(expected);
}

static void every_grid(rank_test *test) {
  const int ranks = test->run.ranks;
  for (int pm = 1, turn = 0; pm <= ranks; pm++)
    for (int pn = 1; pm * pn <= ranks; pn++)
      for (int pk = 1; pm * pn * pk <= ranks && pk <= 5; pk++, turn++) {
        dm_wishes wishes = {.pm = pm, .pn = pn, .pk = pk, .no_overlap = turn % 3 == 2};
        multiply(test, turn, wishes, 0, 0);
        multiply(test, turn + 1, wishes, 3, 0);
        wishes.reproducible = true;
        if (pk == 1) multiply(test, turn + 2, wishes, 0, 0);
        wishes = (dm_wishes){.pm = pm, .pn = pn, .pk = pk, .tiles_m = 2, .tiles_n = 3};
        wishes.may_cut = true;
        multiply(test, turn, wishes, 0, 0);
        multiply(test, turn + 1, wishes, 0, 4); /* resumed */
      }
}

/* ---- the guarantee of f ---- */

/* The largest |C - A B| / (f u |A||B|), in long double, which has 11 more bits. */
static double used_of(rank_test *test, const product *p) {
  const dm_problem *problem = &p->plan.problem;
  const int64_t n = problem->n, k = problem->k;
  double *a = generated(test, &p->a, DM_F64, (dm_range){0, problem->m}, (dm_range){0, k}).base;
  double *b = generated(test, &p->b, DM_F64, (dm_range){0, k}, (dm_range){0, n}).base;
  double *c = expected_of(test, p), used = 0.0;
  for (int64_t i = 0; i < problem->m; i++)
    for (int64_t j = 0; j < n; j++) {
      long double sum = 0.0L, sizes = 0.0L;
      for (int64_t l = 0; l < k; l++) {
        const long double one = (long double)a[i * k + l] * b[l * n + j];
        sum += one;
        sizes += fabsl(one);
      }
      const long double error = fabsl(sum - c[i * n + j]);
      used = fmax(used, (double)(error / (sizes * 0x1p-53L * p->local.scaling.factor)));
    }
  free(a);
  free(b);
  free(c);
  return used;
}

static void promises(rank_test *test) {
  static const dm_kind kinds[] = {DM_UNIFORM, DM_NORMAL, DM_OZAKI, DM_HILBERT};
  double most = 0.0;
  for (int moduli = 8; moduli <= 13; moduli++)
    for (int kind = 0; kind < 4; kind++) {
      char text[24];
      dm_problem problem = product_problem(19, 23, 300, DM_F64);
      snprintf(text, sizeof text, "f64:int8:%d", moduli);
      must(test, product_compute(text, &problem));
      product p = product_open(test, problem, (dm_wishes){0}, kinds[kind], 9);
      product_fill(&p);
      must(test, dm_rank_scale(&p.local, NULL));
      const double used = used_of(test, &p);
      CHECK(test, used <= 1.0, "%s, kind %d: %g of f = %g", text, kind, used,
            p.local.scaling.factor);
      most = fmax(most, used);
      product_close(&p);
    }
  CHECK(test, most > 1e-4, "f says nothing: %g of it is used", most);
}

/* A NaN or Inf, and elements whose magnitudes differ too much for residues. */
static void unfit(rank_test *test) {
  static const double values[] = {NAN, INFINITY, -INFINITY, 1e300, 1.0};
  for (int v = 0; v < 5; v++) {
    dm_problem problem = problem_of(test, 0, 200);
    product p = product_open(test, problem, (dm_wishes){0}, DM_UNIFORM, 3);
    product_fill(&p);
    dm_rank_state *local = &p.local;
    if (!local->coords.idle) {
      const dm_matrix matrix = v % 2 ? DM_B : DM_A;
      for (int64_t q = local->panels.begin; q < local->panels.end; q++) {
        const dm_view piece = dm_rank_piece(local, matrix, q);
        if (dm_rank_piece_rows(local, matrix, q).begin > 0 ||
            dm_rank_piece_cols(local, matrix, q).begin > 0 || dm_view_is_empty(piece))
          continue;
        *(double *)dm_view_at(piece, 0, 0) = values[v];
      }
    }
    must(test, dm_rank_scale(local, NULL));
    CHECK(test, local->scaling.unfit == (v < 4), "%g: f = %g", values[v], local->scaling.factor);
    product_close(&p);
  }
}

TEST_PROGRAM(test_residues) {
  static _Thread_local rank_test test; /* a run that waits for files must not move */
  test = (rank_test){0};
  must(&test, dm_run_start(&test.run, NULL, DM_LOG_ERROR, DM_PROGRESS_NEVER, "test"));
  every_grid(&test);
  promises(&test);
  unfit(&test);
  return rank_test_end(&test);
}
