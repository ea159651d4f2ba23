/* ranks: 1 2. Errors that the check must find, results that it must accept, and rows that it must
 * leave out. */
#include "rank_test.h"

#include "check/freivalds.h"
#include "check/freivalds_impl.h"
#include "core/copy.h"
#include "core/element.h"
#include "plan/partition.h"

enum { M = 40, N = 70, K = 50, HALF = N / 2 }; /* HALF: two groups of columns */

typedef struct trial {
  rank_test *test;
  dm_dtype c_type;
  int64_t room; /* of the check */
  double a[M][K], b[K][N], c[M][N];
  int draw;
  double weights[N]; /* of the last check, from its first column */
  uint8_t wrong[M];  /* rows of the last check */
} trial;

/* C = A B in long double; NaN and Inf propagate. */
static void multiply(trial *t) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      long double sum = 0;
      for (int k = 0; k < K; k++) sum += (long double)t->a[i][k] * t->b[k][j];
      t->c[i][j] = (double)sum;
    }
}

static void fill(trial *t) {
  dm_fill(dm_view_row_major(t->a, DM_F64, M, K), &(dm_generator){DM_NORMAL, 1, 0}, 0, 0);
  dm_fill(dm_view_row_major(t->b, DM_F64, K, N), &(dm_generator){DM_NORMAL, 2, 0}, 0, 0);
  multiply(t);
}

/* The last rank holds the upper half of A and C, rank 0 the rest. */
static dm_verdict judge_part(trial *t, dm_range rows, dm_range cols) {
  static const double one[2] = {1.0, 0.0}, none[2] = {0.0, 0.0};
  const dm_problem problem = {.m = M,
                              .n = N,
                              .k = K,
                              .work = DM_F64,
                              .compute = *dm_compute_by(DM_F64),
                              .accumulator = DM_F64,
                              .c = t->c_type};
  const dm_comm *world = t->test->run.world;
  const bool first = t->test->run.rank == 0, last = t->test->run.rank == t->test->run.ranks - 1;
  dm_freivalds *check;
  must(t->test,
       dm_freivalds_new_part(&problem, one, none, false, (dm_extent){rows, cols}, t->room, &check));
  dm_freivalds_repeat(check, (dm_check_seed){true, 1}, t->draw);
  memset(t->wrong, 0, sizeof t->wrong);
  dm_freivalds_mark(check, t->wrong + rows.begin);
  dm_view a = dm_view_row_major(t->a, DM_F64, M, K), b = dm_view_row_major(t->b, DM_F64, K, N);
  dm_view c = dm_view_row_major(t->c, DM_F64, M, N);
  if (first) must(t->test, dm_freivalds_scan_b(check, NULL, b, 0, 0));
  must(t->test, dm_freivalds_weigh(check, world));
  memcpy(t->weights, check->w, (size_t)dm_range_size(cols) * sizeof(double));
  for (int64_t k = 0; dm_freivalds_turn_to_row(check, k); k += dm_freivalds_room(check)) {
    if (first) must(t->test, dm_freivalds_add_b(check, NULL, b, 0, 0));
    must(t->test, dm_freivalds_project(check, world));
    for (int half = 0; half < 2; half++) {
      const int64_t row = half * (M / 2);
      if (!(half ? first : last)) continue;
      must(t->test, dm_freivalds_add_a(check, NULL, dm_view_sub(a, row, 0, M / 2, K), row, 0));
    }
  }
  for (int half = 0; half < 2; half++) {
    const int64_t row = half * (M / 2);
    if (!(half ? first : last)) continue;
    must(t->test, dm_freivalds_add_c(check, NULL, dm_view_sub(c, row, 0, M / 2, N), row, 0));
  }
  dm_verdict verdict, again;
  must(t->test, dm_freivalds_judge(check, world, &verdict));
  must(t->test, dm_freivalds_judge(check, world, &again)); /* judging changes nothing */
  CHECK(t->test, again.residual == verdict.residual, "another residual the second time");
  dm_freivalds_free(check);
  return verdict;
}

static dm_verdict judge(trial *t) {
  return judge_part(t, (dm_range){0, M}, (dm_range){0, N});
}

#define EXPECT(t, name, passes, left_rows, left_cols)                                              \
  do {                                                                                             \
    dm_verdict v = judge(t);                                                                       \
    CHECK((t)->test, v.pass == (passes), "%s: residual %g", name, v.residual);                     \
    CHECK((t)->test, v.rows_left_out == (left_rows) && v.cols_left_out == (left_cols),             \
          "%s: %lld rows, %lld columns left out", name, (long long)v.rows_left_out,                \
          (long long)v.cols_left_out);                                                             \
  } while (0)

static void errors(trial *t) {
  fill(t);
  EXPECT(t, "right", true, 0, 0);
  t->c[7][3] *= 1 + 1e-9;
  EXPECT(t, "one element, 1e-9 off", false, 0, 0);
  t->c[7][3] = 1e200; /* a corrupted C must not widen its own bound */
  EXPECT(t, "one huge element", false, 0, 0);
  t->c[7][3] = INFINITY;
  EXPECT(t, "Inf in C", false, 0, 0);
  t->c[7][3] = NAN;
  EXPECT(t, "NaN in C", false, 0, 0);
  memset(t->c, 0, sizeof t->c);
  EXPECT(t, "C of zeros", false, 0, 0);
}

/* Equal weights would hide an error in a small column behind a large one. */
static void scales(trial *t) {
  fill(t);
  for (int k = 0; k < K; k++) t->b[k][0] *= 1e60, t->b[k][1] *= 1e-60, t->b[k][2] = 0.0;
  for (int k = 0; k < K; k++) t->a[5][k] *= 1e-90, t->a[6][k] *= 1e90, t->a[9][k] = 0.0;
  multiply(t);
  EXPECT(t, "scaled", true, 0, 0);
  double right = t->c[5][1];
  t->c[5][1] *= 1 + 1e-6;
  EXPECT(t, "error in a small column of a small row", false, 0, 0);
  t->c[5][1] = right;
  t->c[20][2] = 1e-8; /* relative to ones: a zero column has weight 1 */
  EXPECT(t, "error in a column of zeros", false, 0, 0);
  t->c[20][2] = 0.0;
  t->c[9][4] = 1e-250;
  EXPECT(t, "error in a row of zeros", false, 0, 0);
}

/* Columns of A that are large where rows of B are small: the products have similar magnitudes. */
static void inner_scales(trial *t) {
  for (int power = 1; power < 80; power *= 3) {
    fill(t);
    for (int k = 0; k < K; k++) {
      const double size = pow(10.0, k % 2 ? power : -power);
      for (int i = 0; i < M; i++) t->a[i][k] *= size;
      for (int j = 0; j < N; j++) t->b[k][j] /= size;
    }
    multiply(t);
    EXPECT(t, "badly scaled within", true, 0, 0);
    t->c[7][3] *= 1 + 1e-9;
    EXPECT(t, "an error where the inner dimension is badly scaled", false, 0, 0);
  }
  fill(t);
  for (int i = 0; i < M; i++) t->a[i][5] = 1e160;
  for (int j = 0; j < N; j++) t->b[5][j] = 0.0;
  multiply(t);
  EXPECT(t, "a huge column that meets zeros", true, 0, 0);
  t->c[7][3] *= 1 + 1e-9;
  EXPECT(t, "an error beside it", false, 0, 0);
}

/* C in f16, with numbers that have few bits, or none. */
static void subnormal(trial *t) {
  fill(t);
  t->c_type = DM_F16;
  for (int i = 0; i < M; i++)
    for (int k = 0; k < K; k++) t->a[i][k] *= 1e-7;
  multiply(t);
  for (int i = 0; i < M; i++) {
    uint16_t half[N];
    dm_store_wide(half, DM_F16, 1, t->c[i], N);
    dm_load_wide(t->c[i], half, DM_F16, 1, N);
  }
  EXPECT(t, "subnormal numbers", true, 0, 0);
  t->c[7][3] += 1e-4;
  EXPECT(t, "an error beside subnormal numbers", false, 0, 0);
  t->c_type = DM_F64;
}

/* The check reports sums that it cannot verify. */
static void strained(trial *t) {
  fill(t);
  CHECK(t->test, !judge(t).strained, "usual numbers are none too many");
  for (int k = 0; k < K; k++) t->b[k][3] *= 1e160;
  multiply(t);
  CHECK(t->test, judge(t).strained, "a column whose squares overflow");
  fill(t);
  for (int k = 0; k < K; k++) t->b[k][3] *= 1e-170;
  multiply(t);
  CHECK(t->test, judge(t).strained, "a column whose squares vanish");
  fill(t);
  for (int k = 0; k < K; k++) t->a[3][k] *= 1e-170;
  multiply(t);
  const dm_verdict v = judge(t);
  CHECK(t->test, v.strained && v.pass, "a row whose squares vanish: residual %g", v.residual);
  CHECK(t->test, v.rows_left_out == 1, "%lld rows are left out", (long long)v.rows_left_out);
  fill(t);
  for (int k = 0; k < K; k++) t->a[3][k] *= 1e200;
  multiply(t);
  CHECK(t->test, judge(t).strained, "a row whose squares overflow");
}

static void left_out(trial *t) {
  fill(t);
  t->a[3][3] = NAN, t->a[30][0] = -INFINITY, t->b[2][11] = INFINITY;
  multiply(t);
  EXPECT(t, "NaN and Inf in A and B", true, 2, 1);
  t->c[4][4] += 1e-3;
  EXPECT(t, "an error beside them", false, 2, 1);
  fill(t);
  t->c_type = DM_F16; /* its largest number is 65504 */
  for (int k = 0; k < K; k++) t->a[8][k] *= 1e6;
  multiply(t);
  for (int i = 0; i < M; i++) {
    uint16_t half[N];
    dm_store_wide(half, DM_F16, 1, t->c[i], N);
    dm_load_wide(t->c[i], half, DM_F16, 1, N);
  }
  EXPECT(t, "a row that overflows in C's type", true, 1, 0);
  t->c[9][1] = INFINITY;
  EXPECT(t, "Inf where none can come from", false, 1, 0);
  t->c_type = DM_F64;
}

/* An error is seen only by checks of parts that contain it. */
static void parts(trial *t) {
  enum { ROW = 17, COL = 20 }; /* borders on both sides of the ranks' halves */
  const dm_range rows[] = {{0, ROW}, {ROW, 27}, {27, M}},
                 cols[] = {{0, COL}, {COL, COL + 1}, {COL + 1, N}};
  static const int wrong[][2] = {{ROW - 1, COL - 1}, {ROW, COL}, {26, COL + 1}, {M - 1, N - 1}};
  for (size_t e = 0; e < sizeof wrong / sizeof wrong[0]; e++) {
    const int i = wrong[e][0], j = wrong[e][1];
    fill(t);
    t->c[i][j] *= 1 + 1e-9;
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) {
        const bool in =
            i >= rows[r].begin && i < rows[r].end && j >= cols[c].begin && j < cols[c].end;
        const dm_verdict v = judge_part(t, rows[r], cols[c]);
        CHECK(t->test, v.pass == !in, "part %d, %d of %d, %d: residual %g", r, c, i, j, v.residual);
        CHECK(t->test, v.rows_checked == dm_range_size(rows[r]), "%lld rows are checked",
              (long long)v.rows_checked);
        CHECK(t->test, !in || v.worst_row == i, "row %lld for %d", (long long)v.worst_row, i);
      }
  }
  fill(t);
  t->b[4][COL] = NAN; /* no neighbours are left out */
  multiply(t);
  for (int c = 0; c < 3; c++) {
    const dm_verdict v = judge_part(t, rows[1], cols[c]);
    CHECK(t->test, v.pass && v.cols_left_out == (c == 1), "%lld columns are left out of %d",
          (long long)v.cols_left_out, c);
  }
}

/* Large values in one group of columns hide no error in another. */
static void groups(trial *t) {
  fill(t);
  t->a[7][0] = 1e12;
  for (int j = 0; j < HALF; j++) t->b[0][j] = 0.0;
  multiply(t);
  EXPECT(t, "one half of a row a million million times the other", true, 0, 0);
  t->c[7][5] *= 1 + 1e-9;
  EXPECT(t, "an error in the small half", false, 0, 0);
}

/* Errors that cancel in one random vector do not in another; the wrong rows are marked. */
static void draws(trial *t) {
  fill(t);
  EXPECT(t, "right", true, 0, 0);
  t->c[7][3] += 1.0;
  t->c[7][4] -= t->weights[3] / t->weights[4];
  EXPECT(t, "errors that cancel", true, 0, 0);
  t->draw = 1;
  EXPECT(t, "with other weights", false, 0, 0);
  t->c[M - 1][0] += 1.0;
  EXPECT(t, "two wrong rows", false, 0, 0);
  for (int i = 0; i < M; i++)
    CHECK(t->test, t->wrong[i] == (i == 7 || i == M - 1), "row %d is marked %d", i, t->wrong[i]);
  t->draw = 0;
}

/* Rounding errors of equal products, added in one chain, as a GPU's library does, do not cancel. */
static void chain(trial *t) {
  enum { LINES = 4, LENGTH = 1 << 18 };
  static const double one[2] = {1.0, 0.0}, none[2] = {0.0, 0.0};
  double *of = malloc(LINES * LENGTH * sizeof *of);
  const dm_problem problem = {.m = LINES,
                              .n = LINES,
                              .k = LENGTH,
                              .work = DM_F64,
                              .compute = *dm_compute_by(DM_F64),
                              .accumulator = DM_F64,
                              .c = DM_F64};
  double sum = 0.0, c[LINES * LINES];
  for (int64_t i = 0; i < LINES * LENGTH; i++) of[i] = 0.7;
  for (int64_t i = 0; i < LENGTH; i++) sum = fma(0.7, 0.7, sum);
  for (int i = 0; i < LINES * LINES; i++) c[i] = sum;
  const dm_view a = dm_view_row_major(of, DM_F64, LINES, LENGTH),
                b = dm_view_row_major(of, DM_F64, LENGTH, LINES);
  for (int from_gpu = 0; from_gpu < 2; from_gpu++) {
    const dm_comm *world = t->test->run.world;
    const bool first = t->test->run.rank == 0;
    dm_freivalds *check;
    dm_verdict verdict;
    must(t->test,
         dm_freivalds_new(&problem, one, none, from_gpu, from_gpu ? LENGTH : LENGTH / 3, &check));
    dm_freivalds_repeat(check, (dm_check_seed){true, 1}, 0);
    if (first) must(t->test, dm_freivalds_scan_b(check, NULL, b, 0, 0));
    must(t->test, dm_freivalds_weigh(check, world));
    for (int64_t k = 0; dm_freivalds_turn_to_row(check, k); k += dm_freivalds_room(check)) {
      if (first) must(t->test, dm_freivalds_add_b(check, NULL, b, 0, 0));
      must(t->test, dm_freivalds_project(check, world));
      if (first) must(t->test, dm_freivalds_add_a(check, NULL, a, 0, 0));
    }
    if (first)
      must(t->test,
           dm_freivalds_add_c(check, NULL, dm_view_row_major(c, DM_F64, LINES, LINES), 0, 0));
    must(t->test, dm_freivalds_judge(check, world, &verdict));
    CHECK(t->test, verdict.pass == from_gpu, "a chain, from a GPU %d: residual %g", from_gpu,
          verdict.residual);
    dm_freivalds_free(check);
  }
  free(of);
}

/* Sums of numbers of one sign, all of them or those on the diagonal of A A^T and twice that, that
 * are cut off toward zero have a mean signed residual; errors of either sign have none, nor has C
 * where its terms cancel. */
static void signed_residual(trial *t) {
  static const double cuts[] = {0.0, 1e-5, 1.5e-4, 1e-3};
  enum { POSITIVE, DIAGONAL, EITHER_SIGN, CANCELLING, KINDS };
  for (int kind = 0; kind < KINDS; kind++)
    for (int x = 0; x < 4; x++) {
      const double cut = cuts[x];
      fill(t);
      for (int i = 0; i < M; i++)
        for (int k = 0; k < K && kind == POSITIVE; k++) t->a[i][k] = fabs(t->a[i][k]) + 0.5;
      for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++)
          t->b[k][j] = kind == POSITIVE   ? fabs(t->b[k][j]) + 0.5
                       : kind == DIAGONAL ? (j < M ? t->a[j][k] : 1e-3 * t->b[k][j])
                                          : t->b[k][j];
      multiply(t);
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
          const double sign = dm_random_bits(9, i, j, 0) & 1 ? -1.0 : 1.0;
          if (kind == POSITIVE || (kind == DIAGONAL && i == j)) t->c[i][j] *= 1.0 - cut;
          if (kind == EITHER_SIGN) t->c[i][j] *= 1.0 + sign * cut;
          if (kind == CANCELLING) t->c[i][j] += sign * cut;
        }
      bool cut_off;
      const dm_verdict v = judge(t);
      const double mean = dm_verdict_signed(&v, &cut_off);
      const bool finds = cut > (kind == POSITIVE ? 1e-4 : kind == DIAGONAL ? 5e-4 : 1.0);
      CHECK(t->test, cut_off == finds, "kind %d, cut off by %g: %g", kind, cut, mean);
      if (kind == POSITIVE)
        CHECK(t->test, fabs(mean + cut) <= 2e-3 * cut + 1e-12, "cut off by %g: %g", cut, mean);
    }
}

TEST_PROGRAM(test_freivalds) {
  static _Thread_local trial t;
  rank_test test = rank_test_start();
  t.test = &test, t.c_type = DM_F64;
  for (int windows = 1; windows <= 4; windows += 3) {
    t.room = K / windows; /* the last one is shorter */
    errors(&t);
    scales(&t);
    inner_scales(&t);
    subnormal(&t);
    strained(&t);
    left_out(&t);
    parts(&t);
    groups(&t);
    draws(&t);
  }
  t.room = K;
  signed_residual(&t);
  chain(&t);
  return rank_test_end(&test);
}
