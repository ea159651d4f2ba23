/* The sums over X^T X, for which X is read once: the same findings as from sums over both operands,
 * which are taken if A is a copy of X^T. */
#include "backend/verify_sums.h"
#include "cuda_test.h"

enum { SEED = 5, PAD = 8 };

typedef struct gram {
  dm_dtype type;
  int64_t rows, cols;
  int step;         /* squares of columns are of every so many rows */
  bool damage, nan; /* of an element of X that the product did not see; a column of NaN */
} gram;

static dm_verified_found find(dm_backend *gpu, const gram *g, dm_view at, dm_view x, dm_view c) {
  const bool conjugate = dm_dtype_is_complex(g->type);
  dm_verified_product product = {
      .whole =
          {.a = at, .b = x, .c = c, .alpha = {1.0}, .conjugate_a = conjugate, .symmetric = true},
      .multiplied = true,
      .step = g->step,
      .seed = SEED};
  dm_verified_found found;
  product.factors = (dm_row_factors){.alpha = {1.0},
                                     .accumulate = dm_dtype_roundoff(dm_compute_sum(g->type)),
                                     .result = dm_dtype_roundoff(c.dtype),
                                     .depth = sqrt((double)g->rows),
                                     .largest = dm_dtype_largest(c.dtype)};
  ok(dm_backend_multiply_verified(gpu, &product, &found));
  return found;
}

static void near(const gram *g, const char *what, double found, double wanted) {
  const double most = dm_dtype_size(g->type) == 2 ? 1e-4 : 1e-6; /* in f32, or f64 */
  if (!(fabs(found - wanted) <= most * fabs(wanted)))
    fail_msg("%s %lld x %lld: %s %.17g, wanted %.17g", dm_dtype_name(g->type), (long long)g->rows,
             (long long)g->cols, what, found, wanted);
}

static void spoil(dm_backend *gpu, const gram *g, pair x) {
  const dm_generator nan = {.kind = DM_CONSTANT, .parameter = (double)NAN},
                     large = {.kind = DM_CONSTANT, .parameter = 100.0};
  if (g->nan) dm_fill(dm_view_sub(x.host, g->rows / 2, g->cols / 3, 1, 1), &nan, 0, 0);
  if (g->damage) dm_fill(dm_view_sub(x.host, g->rows - 1, g->cols - 1, 1, 1), &large, 0, 0);
  move(gpu, x.device_all, x.host_all);
}

static void check_gram(dm_backend *gpu, const gram *g) {
  const dm_generator normal = {.kind = DM_NORMAL, .seed = 7};
  const dm_dtype sum = dm_compute_sum(g->type);
  pair x = make_pair(gpu, g->type, g->rows, g->cols, PAD, normal);
  pair copy = make_pair(gpu, g->type, g->rows, g->cols, 2 * PAD, normal);
  pair c = make_pair(gpu, sum, g->cols, g->cols, 0, normal);
  dm_whole_product product = {.a = dm_view_transpose(x.device),
                              .b = x.device,
                              .c = c.device,
                              .alpha = {1.0},
                              .conjugate_a = dm_dtype_is_complex(g->type),
                              .symmetric = true};
  dm_event done;
  ok(dm_backend_multiply(gpu, &product, NULL, &done));
  ok(dm_backend_wait(gpu, done));
  dm_copy(copy.host, x.host, false);
  spoil(gpu, g, x), spoil(gpu, g, copy);
  const dm_verified_found once = find(gpu, g, dm_view_transpose(x.device), x.device, c.device);
  const dm_verified_found twice = find(gpu, g, dm_view_transpose(copy.device), x.device, c.device);
  assert_int_equal(once.rows.checked, twice.rows.checked);
  assert_int_equal(once.columns.left_out, twice.columns.left_out);
  assert_int_equal(once.columns.strained, twice.columns.strained);
  assert_int_equal(once.columns.left_out, g->nan ? 1 : 0);
  near(g, "spread", once.columns.spread, twice.columns.spread);
  near(g, "norm", once.rows.squares, twice.rows.squares);
  if (g->damage) near(g, "residual", once.rows.residual, twice.rows.residual);
  if (g->damage != (once.rows.residual > 1.0) || g->damage != (twice.rows.residual > 1.0))
    fail_msg("%s %lld x %lld: residual %g, of both operands %g", dm_dtype_name(g->type),
             (long long)g->rows, (long long)g->cols, once.rows.residual, twice.rows.residual);
  free_pair(gpu, x), free_pair(gpu, copy), free_pair(gpu, c);
}

TEST(test_shapes) {
  /* Of each, and of groups of 8 to 512 threads, columns that fill them and do not. */
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_BF16, DM_F16, DM_C64, DM_C128};
  static const int64_t columns[] = {1, 31, 60, 129, 256, 1000, 2050};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
      for (int what = 0; what < 4; what++)
        check_gram(*state, &(gram){.type = types[t],
                                   .rows = what == 0 ? 1 + (int64_t)c : 1501 + 100 * what,
                                   .cols = columns[c],
                                   .step = what == 1 ? 4 : 1,
                                   .damage = what == 2,
                                   .nan = what == 3});
}

CUDA_TESTS(test_cuda_probe_gram)
