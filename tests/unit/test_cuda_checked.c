/* Products of whole matrices with their verification on the GPU: the same verdict as from the
 * host's sums, and damage is found. */
#include "backend/verify_sums.h"
#include "check/freivalds.h"
#include "cuda_test.h"
#include "engine/equation.h"

enum { M = 300, N = 132, K = 1000, LARGE_M = 4100, LARGE_N = 4104, SEED = 11 };

/* Types, storage and factors of a product. */
typedef struct variant {
  dm_dtype type, type_c;
  bool reads_c;
  const char *by_columns; /* of "abc" */
  bool conjugate_a, conjugate_b;
  bool large; /* sums of A and B are taken beside the product */
  int square; /* columns of B, whose transpose is A; else 0 */
} variant;

typedef struct whole {
  pair a, b, c;
  dm_problem problem;
  dm_whole_product product;
} whole;

static pair stored(dm_backend *gpu, const variant *v, char name, dm_dtype type, int64_t rows,
                   int64_t cols, int64_t pad, uint64_t seed) {
  const dm_kind kind = dm_dtype_is_integer(type) ? DM_INTEGER : DM_NORMAL;
  const dm_generator generator = {.kind = kind, .seed = seed, .parameter = 100.0};
  return v->by_columns && strchr(v->by_columns, name)
             ? make_pair_by_columns(gpu, type, rows, cols, pad, generator)
             : make_pair(gpu, type, rows, cols, pad, generator);
}

static whole make(dm_backend *gpu, const variant *v) {
  const double alpha = dm_dtype_is_integer(v->type) ? 3.0 : 1.5, beta = v->reads_c ? -2.0 : 0.0;
  const int64_t m = v->square ? v->square : v->large ? LARGE_M : M;
  const int64_t n = v->square ? v->square : v->large ? LARGE_N : N;
  whole w = {.b = stored(gpu, v, 'b', v->type, K, n, 4, 5),
             .c = stored(gpu, v, 'c', v->type_c, m, n, 0, 6)};
  if (v->square)
    w.a = (pair){.host = dm_view_transpose(w.b.host), .device = dm_view_transpose(w.b.device)};
  else
    w.a = stored(gpu, v, 'a', v->type, m, K, 8, 5);
  const dm_dataset a = {.rows = m, .cols = K, .dtype = v->type},
                   b = {.rows = K, .cols = n, .dtype = v->type};
  dm_equation equation = {
      .alpha = {alpha}, .beta = {beta}, .type = DM_DTYPE_NONE, .type_c = v->type_c};
  const dm_dataset c = {.rows = m, .cols = n, .dtype = v->type_c};
  ok(dm_problem_of(&a, &b, v->reads_c ? &c : NULL, &equation, &w.problem));
  w.product = (dm_whole_product){.a = w.a.device,
                                 .b = w.b.device,
                                 .c = w.c.device,
                                 .alpha = {alpha},
                                 .beta = {beta},
                                 .conjugate_a = v->conjugate_a,
                                 .conjugate_b = v->conjugate_b,
                                 .symmetric = v->square > 0};
  return w;
}

static void drop(dm_backend *gpu, whole *w) {
  if (!w->product.symmetric) free_pair(gpu, w->a);
  free_pair(gpu, w->b), free_pair(gpu, w->c);
}

/* From sums on the host of the same C. */
static dm_verdict expected(dm_backend *gpu, whole *w, const dm_comm *comm) {
  dm_freivalds *check;
  dm_verdict verdict;
  ok(dm_freivalds_new(&w->problem, w->product.alpha, w->product.beta, true, w->problem.k, &check));
  dm_freivalds_join_groups(check);
  dm_freivalds_conjugate(check, w->product.conjugate_a, w->product.conjugate_b);
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

static void near(const variant *v, const char *what, double found, double wanted, double share) {
  if (fabs(found - wanted) > share * fabs(wanted))
    fail_msg("%s to %s, '%s' by columns%s: %s %.17g, wanted %.17g", dm_dtype_name(v->type),
             dm_dtype_name(v->type_c), v->by_columns ? v->by_columns : "",
             v->reads_c ? ", C read" : "", what, found, wanted);
}

static void check_one(dm_backend *gpu, const dm_comm *comm, const variant *v) {
  whole w = make(gpu, v);
  dm_verdict found;
  assert_true(dm_backend_checks(gpu) && dm_backend_can_multiply(gpu, &w.product));
  ok(dm_freivalds_multiply(&w.problem, (dm_check_seed){true, SEED}, 0, comm, gpu, &w.product,
                           &found));
  const dm_verdict good = expected(gpu, &w, comm);
  if (!good.pass || !found.pass)
    fail_msg("%s to %s, '%s' by columns: %g on the host, %g on the GPU", dm_dtype_name(v->type),
             dm_dtype_name(v->type_c), v->by_columns ? v->by_columns : "", good.residual,
             found.residual);
  assert_int_equal(found.exact, good.exact);
  assert_int_equal(found.rows_checked, w.problem.m);
  assert_int_equal(found.cols_checked, w.problem.n);
  assert_int_equal(found.seed, good.seed);
  assert_int_equal(found.worst_row >= 0, good.worst_row >= 0);
  near(v, "norm", found.norm, good.norm, 1e-12);
  /* Of roundoffs, which depend on the order of sums. */
  near(v, "residual", found.residual, good.residual, 0.9);
  drop(gpu, &w);
}

/* Another factor than that of the product: every row is wrong. */
static void check_wrong(dm_backend *gpu, dm_dtype type, double error) {
  const bool integer = dm_dtype_is_integer(type);
  const dm_dtype type_c = integer ? DM_I32 : type;
  whole w = make(gpu, &(variant){.type = type, .type_c = type_c, .by_columns = "b"});
  dm_verified_product wrong = {.whole = w.product, .seed = SEED};
  dm_verified_found found;
  wrong.factors = (dm_row_factors){.alpha = {integer ? 4.0 : w.product.alpha[0] * (1.0 + error)},
                                   .accumulate = w.problem.compute.roundoff,
                                   .result = dm_dtype_roundoff(type_c),
                                   .depth = sqrt(K),
                                   .largest = dm_dtype_largest(type_c)};
  ok(dm_backend_multiply_verified(gpu, &wrong, &found));
  assert_true(found.rows.residual > 1.0);
  assert_true(found.rows.worst >= 0 && found.rows.worst < M);
  drop(gpu, &w);
}

static void check_nan(dm_backend *gpu, const dm_comm *comm) {
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN};
  whole w = make(gpu, &(variant){.type = DM_F64, .type_c = DM_F64});
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

static const variant variants[] = {
    {DM_F64, DM_F64, false, NULL, false, false, false, 0},
    {DM_F64, DM_F64, true, NULL, false, false, false, 0},
    {DM_F32, DM_F32, false, NULL, false, false, false, 0},
    {DM_BF16, DM_BF16, false, NULL, false, false, false, 0},
    {DM_F16, DM_F32, true, NULL, false, false, false, 0},
    {DM_C128, DM_C128, true, NULL, false, false, false, 0},
    {DM_F64, DM_F64, false, "a", false, false, false, 0},
    {DM_F64, DM_F64, true, "bc", false, false, false, 0},
    {DM_F32, DM_F32, true, "abc", false, false, false, 0},
    {DM_BF16, DM_BF16, false, "b", false, false, false, 0},
    {DM_C64, DM_C64, false, "a", true, false, false, 0},
    {DM_C128, DM_C128, true, "b", false, true, false, 0},
    {DM_C128, DM_C128, false, "ab", true, true, false, 0},
    {DM_I8, DM_I32, false, "bc", false, false, false, 0},
    {DM_I8, DM_I32, true, "b", false, false, false, 0},
    {DM_I8, DM_I32, false, "b", false, false, false, 0},
    {DM_F64, DM_F64, .large = true},
    {DM_F64, DM_F64, .by_columns = "ab", .large = true},
    {DM_F32, DM_F32, .large = true},
    {DM_C128, DM_C128, .large = true},
    {DM_F64, DM_F64, .square = 60},
    {DM_F64, DM_F64, .square = 1001},
    {DM_F64, DM_F64, .square = 4096},
    {DM_F32, DM_F32, .square = 1000},
    {DM_F32, DM_F32, .square = 2049},
    {DM_BF16, DM_F32, .square = 515},
    {DM_BF16, DM_F32, .square = 4096},
    {DM_F16, DM_F32, .square = 1},
    {DM_F32, DM_F32, .square = 1000, .by_columns = "b"},
    {DM_C128, DM_C128, .square = 77},
};

TEST(test_verdicts) {
  dm_comm *comm;
  ok(dm_comm_take_alone(&comm));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    check_one(*state, comm, &variants[i]);
  check_wrong(*state, DM_F64, 1e-10);
  check_wrong(*state, DM_F32, 1e-1);
  check_wrong(*state, DM_I8, 0.0);
  check_nan(*state, comm);
  dm_comm_stop(comm);
}

CUDA_TESTS(test_cuda_checked)
