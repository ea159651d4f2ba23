/* ranks: 1 2 3 4 6. Products with every kind of error of hardware or software: the check must fail
 * for these and pass for correct products. */
#include "plan/partition.h"
#include "small_product.h"

#include "check/freivalds.h"
#include "engine/alpha_beta.h"
#include "engine/execute.h"
#include "engine/share_check.h"

typedef enum fault {
  NO_FAULT,
  PANEL_MISSING,
  PANEL_TWICE,
  LOW_BIT,
  HIGH_BIT,
  PARTS_SWAPPED,
  BETA_IGNORED,
  NAN_IN_C,
  FAULTS,
} fault;

static const char *const names[FAULTS] = {"no fault", "panel missing", "panel twice", "low bit",
                                          "high bit", "parts swapped", "beta lost",   "NaN in C"};
static const double alpha[2] = {2.0, 0.0}, beta[2] = {-3.0, 0.0};
static const dm_generator old_c = {.kind = DM_INTEGER, .seed = 99, .parameter = 50};

static void negate(dm_view view) {
  const int parts = dm_dtype_is_complex(view.dtype) ? 2 : 1;
  for (int64_t i = 0; i < view.rows * view.cols; i++) {
    char *at = (char *)view.base + i * dm_dtype_size(view.dtype);
    double value[2];
    dm_load_wide(value, at, view.dtype, 1, 1);
    for (int part = 0; part < parts; part++) value[part] = -value[part];
    dm_store_wide(at, view.dtype, 1, value, 1);
  }
}

/* Adds the last panel of this rank's layer to its block again, or subtracts it. */
static void add_panel(product *p, bool take_away) {
  dm_range k = dm_plan_panel(&p->plan, p->local.panels.end - 1);
  dm_view a = generated(p->test, &p->a, p->plan.problem.work, p->local.rows, k);
  dm_view b = generated(p->test, &p->b, p->plan.problem.work, k, p->local.cols);
  if (take_away) negate(a);
  dm_event done;
  must(p->test, dm_backend_gemm(p->backend, p->local.c, a, b, true, &done));
  must(p->test, dm_backend_wait(p->backend, done));
  free(a.base);
  free(b.base);
}

/* Flips a bit of the real part of the largest element. */
static void flip(dm_view c, bool high) {
  const int parts = dm_dtype_is_complex(c.dtype) ? 2 : 1;
  int64_t best = 0;
  double most = -1.0, value[2];
  for (int64_t i = 0; i < c.rows * c.cols; i++) {
    dm_load_wide(value, (char *)c.base + i * dm_dtype_size(c.dtype), c.dtype, 1, 1);
    if (fabs(value[0]) > most) most = fabs(value[0]), best = i * parts;
  }
  dm_dtype real = dm_dtype_real(c.dtype);
  int bit = high ? (real == DM_F64 ? 62 : 30) : real == DM_F64 ? 52 : real == DM_F32 ? 23 : 0;
  if (real == DM_F64)
    ((uint64_t *)c.base)[best] ^= (uint64_t)1 << bit;
  else
    ((uint32_t *)c.base)[best] ^= (uint32_t)1 << bit;
}

static void swap_halves(dm_view c) {
  const size_t bytes = (size_t)(c.rows / 2 * c.cols * dm_dtype_size(c.dtype));
  char *top = c.base, *bottom = dm_view_at(c, c.rows / 2, 0);
  for (size_t i = 0; i < bytes; i++) {
    char held = top[i];
    top[i] = bottom[i];
    bottom[i] = held;
  }
}

/* Corrupts the block of one rank: the one with C(0, 0) in the last layer that has panels. */
static bool spoils(const product *p) {
  int layer = p->plan.pk - 1;
  while (layer > 0 && dm_range_size(dm_plan_layer(&p->plan, layer)) == 0) layer--;
  return p->test->run.rank == dm_plan_rank(&p->plan, 0, 0, layer);
}

static void check_c(product *p, fault which, dm_freivalds *check) {
  dm_range rows;
  dm_view sums = product_sums(p, &rows);
  if (dm_view_is_empty(sums)) return;
  dm_dtype type = p->plan.problem.c;
  dm_view old = generated(p->test, &old_c, type, rows, p->local.cols);
  dm_view c = generated(p->test, &old_c, type, rows, p->local.cols);
  must(p->test, dm_apply_alpha_beta(c, sums, which == BETA_IGNORED ? NULL : &old, alpha, beta));
  if (spoils(p)) {
    double nothing[2] = {NAN, 0.0};
    if (which == LOW_BIT || which == HIGH_BIT) flip(c, which == HIGH_BIT);
    if (which == PARTS_SWAPPED) swap_halves(c);
    if (which == NAN_IN_C) dm_store_wide(dm_view_at(c, c.rows - 1, 0), type, 1, nothing, 1);
  }
  must(p->test, dm_freivalds_add_c(check, NULL, c, rows.begin, p->local.cols.begin));
  must(p->test, dm_freivalds_add_c0(check, NULL, old, rows.begin, p->local.cols.begin));
  free(old.base);
  free(c.base);
}

static void multiply(rank_test *test, dm_dtype work, fault which, dm_wishes wishes) {
  dm_problem problem = product_problem(83, 71, 300, work);
  problem.reads_c = true;
  product p = product_open(test, problem, wishes, work == DM_I8 ? DM_INTEGER : DM_NORMAL, 1);
  product_fill(&p);
  dm_freivalds *check;
  must(test, dm_freivalds_new(&problem, alpha, beta, false, problem.k, &check));
  dm_freivalds_repeat(check, (dm_check_seed){true, 1}, 0);
  must(test, dm_check_operands(&p.local, check, NULL));
  product_run(&p, DM_PRODUCTS);
  if ((which == PANEL_MISSING || which == PANEL_TWICE) && spoils(&p))
    add_panel(&p, which == PANEL_MISSING);
  product_run(&p, DM_SUMS);
  check_c(&p, which, check);
  dm_verdict verdict;
  must(test, dm_freivalds_judge(check, test->run.world, &verdict));
  CHECK(test, verdict.pass == (which == NO_FAULT),
        "%s, %s, grid %dx%dx%d: residual %g of the bound", dm_dtype_name(work), names[which],
        p.plan.pm, p.plan.pn, p.plan.pk, verdict.residual);
  dm_freivalds_free(check);
  product_close(&p);
}

TEST_PROGRAM(test_wrong_steps) {
  rank_test test = rank_test_start();
  for (dm_dtype work = DM_F64; work <= DM_I8; work++)
    for (fault which = NO_FAULT; which < (work == DM_I8 ? NAN_IN_C : FAULTS); which++) {
      multiply(&test, work, which, (dm_wishes){.panel = 64});
      multiply(&test, work, which, (dm_wishes){.panel = 64, .pk = test.run.ranks});
    }
  return rank_test_end(&test);
}
