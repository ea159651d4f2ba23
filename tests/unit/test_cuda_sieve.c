/* Elements that pass a sieve on the GPU, and limits that it finds, beside plain loops: all types,
 * odd shapes and alignments, NaN, Inf, ties, and lists without room. */
#include <math.h>

#include "core/sieve.h"
#include "cuda_test.h"

static const int64_t shapes[][2] = {{1, 1},    {1, 3000}, {3000, 1},   {17, 1023},
                                    {64, 256}, {65, 777}, {1030, 515}, {300, 2100}};
static const dm_dtype types[] = {DM_F64, DM_F32, DM_F16, DM_BF16};

enum { SHAPES = sizeof shapes / sizeof *shapes, TYPES = sizeof types / sizeof *types };

static double element(dm_view m, int64_t row, int64_t col) {
  double x;
  dm_load_wide(&x, dm_view_at(m, row, col), m.dtype, 1, 1);
  return x;
}

static double score_of(dm_score by, double value) {
  if (by.magnitude) value = fabs(value);
  return by.negative ? -value : value;
}

static bool is_self(dm_left_out of, int64_t row, int64_t col) {
  return of.self && col == row + of.ahead;
}

/* Numbers with ties, a few NaN and Inf, and a row of NaN. */
static pair make(dm_backend *gpu, dm_dtype dtype, const int64_t *shape, int64_t pad) {
  const dm_generator generator = {.kind = DM_UNIFORM, .seed = 5, .parameter = 1};
  pair p = make_pair(gpu, dtype, shape[0], shape[1], pad, generator);
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++) {
      const int64_t place = i * 37 + j * 11;
      double x = element(p.host, i, j);
      if (place % 13 == 0) x = 0.25;
      if (place % 17 == 0) x = place % 2 ? -0.0 : 0.0;
      if (place % 1009 == 5) x = (double)NAN;
      if (place % 2003 == 7) x = place % 2 ? HUGE_VAL : -HUGE_VAL;
      if (i == 20) x = (double)NAN;
      dm_store_wide(dm_view_at(p.host, i, j), dtype, 1, &x, 1);
    }
  move(gpu, p.device_all, p.host_all);
  return p;
}

/* ---- sifting ---- */

static bool passes(const dm_sieve *s, double score, int64_t row, int64_t col) {
  if (!s->rows && !s->cols) return !(score <= (double)s->limit);
  return (s->rows && !(score <= (double)s->rows[row])) ||
         (s->cols && !(score <= (double)s->cols[col]));
}

static int by_place(const void *one, const void *other) {
  const dm_candidate *a = one, *b = other;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return a->col < b->col ? -1 : a->col > b->col;
}

static void check_sift(dm_backend *gpu, pair p, const dm_sieve *s) {
  const int64_t all = p.host.rows * p.host.cols;
  dm_candidate *list = malloc((size_t)all * sizeof *list);
  int64_t count, nans, wanted = 0, missing = 0;
  assert_non_null(list);
  ok(dm_backend_sift(gpu, p.device, s, list, all, &count, &nans));
  assert_true(count <= all);
  qsort(list, (size_t)count, sizeof *list, by_place);
  for (int64_t i = 0; i < p.host.rows; i++)
    for (int64_t j = 0; j < p.host.cols; j++) {
      const double x = element(p.host, i, j);
      if (is_self(s->left_out, i, j)) continue;
      missing += isnan(x) != 0;
      if (isnan(x) || !passes(s, score_of(s->score, x), i, j)) continue;
      assert_true(wanted < count && list[wanted].row == i && list[wanted].col == j);
      assert_true(list[wanted++].value == x);
    }
  assert_int_equal(count, wanted);
  assert_int_equal(nans, missing);
  if (count > 1) {
    list[count / 2] = (dm_candidate){.row = 12345, .value = 5.0};
    ok(dm_backend_sift(gpu, p.device, s, list, count / 2, &count, &nans));
    assert_int_equal(count, wanted);
    assert_true(list[count / 2].row == 12345 && list[count / 2].value == 5.0);
  }
  free(list);
}

static void sift_all_ways(dm_backend *gpu, pair p) {
  float *rows = malloc((size_t)p.host.rows * sizeof *rows);
  float *cols = malloc((size_t)p.host.cols * sizeof *cols);
  for (int64_t i = 0; i < p.host.rows; i++) rows[i] = i % 7 == 3 ? NAN : 0.95f - 0.5f * (i % 2);
  for (int64_t j = 0; j < p.host.cols; j++) cols[j] = j % 211 == 9 ? NAN : 0.98f;
  for (int way = 0; way < 4; way++)
    for (int by = 0; by < 4; by++) {
      const dm_sieve s = {.score = {by & 1, by & 2},
                          .left_out = {way != 2, way - 5},
                          .rows = way & 1 ? rows : NULL,
                          .cols = way & 2 ? cols : NULL,
                          .limit = by & 2 ? -0.05f : 0.25f};
      check_sift(gpu, p, &s);
    }
  free(rows);
  free(cols);
}

TEST(elements_that_pass_are_those_of_a_loop) {
  dm_backend *gpu = *state;
  for (int t = 0; t < TYPES; t++)
    for (int s = 0; s < SHAPES; s++)
      for (int64_t pad = 0; pad < 9; pad += 3) {
        const pair p = make(gpu, types[t], shapes[s], pad);
        sift_all_ways(gpu, p);
        free_pair(gpu, p);
      }
}

TEST(all_of_a_large_matrix_pass) {
  dm_backend *gpu = *state;
  const pair p = make(gpu, DM_F32, (const int64_t[]){3001, 2000}, 0);
  const dm_sieve s = {.limit = NAN};
  check_sift(gpu, p, &s);
  free_pair(gpu, p);
}

/* ---- limits ---- */

/* Elements of a line that are above LIMIT, with those that equal the least of them; *least: the
 * score of the BESTth one is above, too, if there is one. */
static void check_limit(pair p, dm_score score, dm_left_out left_out, bool by_row, int64_t line,
                        int64_t best, float limit) {
  const int64_t length = by_row ? p.host.cols : p.host.rows;
  int64_t above = 0, some = 0;
  for (int64_t i = 0; i < length; i++) {
    const int64_t row = by_row ? line : i, col = by_row ? i : line;
    const double x = score_of(score, element(p.host, row, col));
    if (isnan(x) || is_self(left_out, row, col)) continue;
    above += x > (double)limit;
    some += x > -HUGE_VAL;
  }
  if (isnan(limit)) {
    assert_true(some < best || length <= 2 * best || best > 512);
    return;
  }
  assert_true(above >= best);
}

static void check_raise(dm_backend *gpu, pair p, dm_score score, bool by_row, int64_t best) {
  const int64_t lines = by_row ? p.host.rows : p.host.cols;
  const dm_left_out left_out = {.self = true, .ahead = 2};
  float *limits = malloc((size_t)lines * sizeof *limits);
  for (int64_t i = 0; i < lines; i++) limits[i] = i % 5 == 1 ? HUGE_VALF : NAN;
  ok(dm_backend_raise(gpu, p.device, score, left_out, by_row, best, limits));
  for (int64_t i = 0; i < lines; i++)
    if (i % 5 == 1)
      assert_true(limits[i] == HUGE_VALF);
    else
      check_limit(p, score, left_out, by_row, i, best, limits[i]);
  free(limits);
}

TEST(limits_leave_the_best) {
  dm_backend *gpu = *state;
  for (int t = 0; t < TYPES; t++)
    for (int s = 0; s < SHAPES; s++) {
      const pair p = make(gpu, types[t], shapes[s], s % 2);
      for (int way = 0; way < 8; way++)
        for (int64_t best = 1; best < 2000; best *= 7)
          check_raise(gpu, p, (dm_score){way & 1, way & 2}, way & 4, best);
      free_pair(gpu, p);
    }
}

/* With four times as many elements as are wanted in each group, few more are left. */
TEST(limits_leave_few_more) {
  dm_backend *gpu = *state;
  const dm_generator generator = {.kind = DM_UNIFORM, .seed = 9, .parameter = 1};
  const pair p = make_pair(gpu, DM_F32, 2048, 2048, 0, generator);
  for (int by_row = 0; by_row < 2; by_row++) {
    float limits[2048];
    int64_t count, nans;
    dm_candidate *list = malloc((size_t)2048 * 200 * sizeof *list);
    for (int i = 0; i < 2048; i++) limits[i] = NAN;
    ok(dm_backend_raise(gpu, p.device, (dm_score){false, false}, (dm_left_out){false, 0}, by_row,
                        100, limits));
    const dm_sieve s = {.rows = by_row ? limits : NULL, .cols = by_row ? NULL : limits};
    ok(dm_backend_sift(gpu, p.device, &s, list, 2048 * 200, &count, &nans));
    assert_true(count >= 2048 * 100 && count <= 2048 * 125);
    free(list);
  }
  free_pair(gpu, p);
}

CUDA_TESTS(test_cuda_sieve)
