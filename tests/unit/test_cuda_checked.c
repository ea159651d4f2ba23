/* Products of whole matrices with their verification on the GPU: the same verdict as from the
 * host's sums, and damage is found. */
#include "backend/checked_product.h"
#include "check/freivalds.h"
#include "cuda_test.h"
#include "engine/equation.h"

enum { M = 300, N = 129, K = 1000, SEED = 11 };

typedef struct whole {
  pair a, b, c;
  dm_problem problem;
  dm_whole_product product;
} whole;

static whole make(dm_backend *gpu, dm_dtype type, dm_dtype type_c, bool reads_c) {
  const dm_generator normal = {.kind = DM_NORMAL, .seed = 5}, old = {.kind = DM_NORMAL, .seed = 6};
  whole w = {.a = make_pair(gpu, type, M, K, 8, normal),
             .b = make_pair(gpu, type, K, N, 7, normal),
             .c = make_pair(gpu, type_c, M, N, 0, old)};
  const dm_dataset a = {.rows = M, .cols = K, .dtype = type},
                   b = {.rows = K, .cols = N, .dtype = type};
  dm_equation equation = {
      .alpha = {1.5}, .beta = {reads_c ? -2.0 : 0.0}, .type = DM_DTYPE_NONE, .type_c = type_c};
  const dm_dataset c = {.rows = M, .cols = N, .dtype = type_c};
  ok(dm_problem_of(&a, &b, reads_c ? &c : NULL, &equation, &w.problem));
  w.product = (dm_whole_product){.a = w.a.device, .b = w.b.device, .c = w.c.device, .alpha = {1.5}};
  w.product.beta[0] = equation.beta[0];
  return w;
}

static void drop(dm_backend *gpu, whole *w) {
  free_pair(gpu, w->a), free_pair(gpu, w->b), free_pair(gpu, w->c);
}

/* From sums on the host of the same C. */
static dm_verdict expected(dm_backend *gpu, whole *w, const dm_comm *comm) {
  dm_freivalds *check;
  dm_verdict verdict;
  ok(dm_freivalds_new(&w->problem, w->product.alpha, w->product.beta, true, &check));
  dm_freivalds_join_groups(check);
  dm_freivalds_repeat(check, (dm_check_seed){true, SEED}, 0);
  ok(dm_freivalds_scan_b(check, NULL, w->b.host, 0, 0));
  ok(dm_freivalds_weigh(check, comm));
  ok(dm_freivalds_add_b(check, NULL, w->b.host, 0, 0));
  ok(dm_freivalds_project(check, comm));
  ok(dm_freivalds_add_a(check, NULL, w->a.host, 0, 0));
  if (w->problem.reads_c) ok(dm_freivalds_add_c0(check, NULL, w->c.host, 0, 0));
  move(gpu, w->c.host_all, w->c.device_all);
  ok(dm_freivalds_add_c(check, NULL, w->c.host, 0, 0));
  ok(dm_freivalds_judge(check, comm, &verdict));
  dm_freivalds_free(check);
  return verdict;
}

static void near(double x, double y, double share) {
  assert_true(fabs(x - y) <= share * fabs(y));
}

static void check_one(dm_backend *gpu, const dm_comm *comm, dm_dtype type, dm_dtype type_c,
                      bool reads_c) {
  whole w = make(gpu, type, type_c, reads_c);
  dm_verdict found;
  assert_true(dm_backend_can_check(gpu, &w.product));
  ok(dm_freivalds_multiply(&w.problem, (dm_check_seed){true, SEED}, 0, comm, gpu, &w.product,
                           &found));
  const dm_verdict good = expected(gpu, &w, comm);
  if (!good.pass || !found.pass)
    fail_msg("%s to %s: %g on the host, %g on the GPU", dm_dtype_name(type), dm_dtype_name(type_c),
             good.residual, found.residual);
  assert_int_equal(found.rows_checked, M);
  assert_int_equal(found.cols_checked, N);
  assert_int_equal(found.seed, good.seed);
  assert_int_equal(found.worst_row >= 0, good.worst_row >= 0);
  near(found.norm, good.norm, 1e-12);
  near(found.residual, good.residual, 0.9); /* of roundoffs, which depend on the order of sums */
  drop(gpu, &w);
}

/* Another factor than that of the product: every row is wrong. */
static void check_wrong(dm_backend *gpu, dm_dtype type, double error) {
  whole w = make(gpu, type, type, false);
  dm_checked_product wrong = {.whole = w.product, .seed = SEED};
  dm_checked_found found;
  wrong.factors = (dm_row_factors){.alpha = {1.5 * (1.0 + error)},
                                   .accumulate = w.problem.compute.roundoff,
                                   .result = dm_dtype_roundoff(type),
                                   .depth = sqrt(K),
                                   .largest = dm_dtype_largest(type)};
  ok(dm_backend_multiply_checked(gpu, &wrong, &found));
  assert_true(found.rows.residual > 1.0);
  assert_true(found.rows.worst >= 0 && found.rows.worst < M);
  drop(gpu, &w);
}

static void check_nan(dm_backend *gpu, const dm_comm *comm) {
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  whole w = make(gpu, DM_F64, DM_F64, false);
  dm_verdict found;
  dm_fill(dm_view_sub(w.a.host, 7, 3, 1, 1), &nan, 0, 0);
  dm_fill(dm_view_sub(w.b.host, 2, 5, 1, 1), &nan, 0, 0);
  move(gpu, w.a.device_all, w.a.host_all);
  move(gpu, w.b.device_all, w.b.host_all);
  ok(dm_freivalds_multiply(&w.problem, (dm_check_seed){true, SEED}, 0, comm, gpu, &w.product,
                           &found));
  assert_int_equal(found.rows_left_out, 1);
  assert_int_equal(found.cols_left_out, 1);
  assert_true(found.pass);
  drop(gpu, &w);
}

TEST(test_verdicts) {
  dm_comm *comm;
  ok(dm_comm_take_alone(&comm));
  check_one(*state, comm, DM_F64, DM_F64, false);
  check_one(*state, comm, DM_F64, DM_F64, true);
  check_one(*state, comm, DM_F32, DM_F32, false);
  check_one(*state, comm, DM_BF16, DM_BF16, false);
  check_one(*state, comm, DM_F16, DM_F32, true);
  check_one(*state, comm, DM_C128, DM_C128, true);
  check_wrong(*state, DM_F64, 1e-10);
  check_wrong(*state, DM_F32, 1e-1);
  check_nan(*state, comm);
  dm_comm_stop(comm);
}

CUDA_TESTS(test_cuda_checked)
