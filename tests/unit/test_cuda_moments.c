/* Moments of rows and columns, and centered copies, on the GPU: all types, orders, alignments, with
 * weights and missing elements, beside sums in long double and the host's centering. */
#include <math.h>

#include "core/centering.h"
#include "cuda_test.h"

static const int64_t shapes[][2] = {{1, 1},   {1, 700},  {700, 1},    {15, 17},
                                    {64, 64}, {257, 33}, {3000, 130}, {130, 3001}};

static const dm_dtype types[] = {DM_F64, DM_F32, DM_F16, DM_BF16, DM_I8, DM_I32, DM_C64, DM_C128};

enum { SHAPES = sizeof shapes / sizeof *shapes, TYPES = sizeof types / sizeof *types };

static const double sentinel = 5.0;

/* ---- elements ---- */

static int parts_of(dm_view m) {
  return dm_dtype_is_complex(m.dtype) ? 2 : 1;
}

/* Element (row, col) as the GPU is to take it; false: it is missing. */
static bool load(dm_view m, const dm_gaps *gaps, int64_t row, int64_t col, double x[2]) {
  x[1] = 0.0;
  dm_load_wide(x, dm_view_at(m, row, col), m.dtype, 1, 1);
  bool bad = isnan(x[0]) || isnan(x[1]);
  const bool marked = (bad && gaps->nan) || (parts_of(m) == 1 && gaps->count && x[0] == sentinel);
  if (marked && gaps->zero) x[0] = x[1] = 0.0;
  bad = (bad || marked) && !(marked && gaps->zero);
  if (bad) x[0] = x[1] = (double)NAN;
  return !bad;
}

/* Large means beside small deviations, one constant column, and missing elements in one of ELEVEN
 * places. */
static pair make(dm_backend *gpu, dm_dtype dtype, const int64_t *shape, bool by_columns,
                 int64_t pad, bool has_gaps) {
  const bool whole = dm_dtype_is_integer(dtype);
  const dm_generator generator = {
      .kind = whole ? DM_INTEGER : DM_UNIFORM, .seed = 7, .parameter = 100};
  pair p = (by_columns ? make_pair_by_columns : make_pair)(gpu, dtype, shape[0], shape[1], pad,
                                                           generator);
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[1]; j++) {
      double x[2] = {0.0, 0.0};
      void *at = dm_view_at(p.host, i, j);
      dm_load_wide(x, at, dtype, 1, 1);
      if (!whole) x[0] += dtype == DM_F64 || dtype == DM_C128 ? 1e6 : 8.0;
      if (j == 2) x[0] = whole ? 3.0 : 0.1, x[1] = 0.7;
      if (has_gaps && (i * 31 + j * 7) % 11 == 3) x[0] = whole ? sentinel : (double)NAN;
      dm_store_wide(at, dtype, 1, x, 1);
    }
  move(gpu, p.device_all, p.host_all);
  return p;
}

/* ---- moments ---- */

typedef struct wanted {
  long double mean[2], squares, magnitude, weight;
  int64_t present, first; /* FIRST: place in the line of the first missing element, or -1 */
} wanted;

static wanted sum_line(dm_view m, const dm_moments_how *how, int64_t col) {
  const dm_gaps *gaps = how->gaps;
  const double *weights = how->weights;
  const double power = how->powers ? how->powers[col] : 1.0;
  wanted w = {.first = -1};
  double x[2];
  for (int64_t i = 0; i < m.rows; i++) {
    const double weight = weights ? weights[i] : 1.0;
    if (weight < 0.0) continue;
    if (!load(m, gaps, i, col, x)) {
      if (w.first < 0) w.first = i;
      continue;
    }
    for (int p = 0; p < 2; p++) {
      w.mean[p] += (long double)weight * power * x[p];
      w.magnitude += (long double)weight * power * power * x[p] * x[p];
    }
    w.weight += weight;
    w.present++;
  }
  for (int p = 0; p < 2 && w.present > 0; p++) w.mean[p] /= w.weight;
  for (int64_t i = 0; i < m.rows; i++) {
    const double weight = weights ? weights[i] : 1.0;
    if (weight < 0.0 || !load(m, gaps, i, col, x)) continue;
    for (int p = 0; p < 2; p++)
      w.squares += (long double)weight * powl((long double)power * x[p] - w.mean[p], 2.0L);
  }
  return w;
}

static void check_line(const wanted *w, const double *numbers, int64_t width, int parts) {
  double squares = 0.0;
  for (int p = 0; p < parts; p++) {
    const double *n = numbers + p;
    assert_true(n[DM_PRESENT * width] == (double)w->present);
    if (w->present == 0) continue;
    assert_true(fabsl(n[DM_WEIGHT * width] - w->weight) <= 1e-13L * w->weight);
    const long double mean = (long double)n[DM_FROM * width] + n[DM_MEAN * width];
    const long double spread = sqrtl(w->squares / w->weight);
    assert_true(fabsl(mean - w->mean[p]) <= 1e-15L * fabsl(w->mean[p]) + 1e-12L * spread);
    squares += n[DM_SQUARES * width];
  }
  if (w->present > 0)
    assert_true(fabsl(squares - w->squares) <= 1e-11L * w->squares + 1e-30L * w->magnitude);
}

static void check_moments(dm_backend *gpu, pair p, bool by_rows, const dm_gaps *gaps,
                          const double *weights, const double *powers) {
  const dm_moments_how how = {by_rows, gaps, powers, weights};
  const dm_view m = by_rows ? dm_view_transpose(p.host) : p.host;
  const int parts = parts_of(m);
  const int64_t width = m.cols * parts, bytes = DM_MOMENTS * width * (int64_t)sizeof(double);
  double *numbers = malloc((size_t)bytes), *again = malloc((size_t)bytes);
  int64_t first, repeated, least = INT64_MAX;
  ok(dm_backend_moments(gpu, p.device, &how, numbers, &first));
  ok(dm_backend_moments(gpu, p.device, &how, again, &repeated));
  assert_memory_equal(numbers, again, (size_t)bytes);
  for (int64_t j = 0; j < m.cols; j++) {
    const wanted w = sum_line(m, &how, j);
    check_line(&w, numbers + j * parts, width, parts);
    const int64_t place = by_rows ? j * p.host.cols + w.first : w.first * p.host.cols + j;
    if (w.first >= 0 && place < least) least = place;
    const double *of = numbers + j * parts;
    if (!by_rows && j == 2 && !gaps->zero && w.present > 0)
      assert_true(of[DM_SQUARES * width] == 0.0 && of[DM_MEAN * width] == 0.0);
  }
  assert_true(first == least && repeated == least);
  free(numbers), free(again);
}

/* ---- copies ---- */

static double *random_numbers(int64_t count, double least) {
  double *list = malloc((size_t)(count + 1) * sizeof *list);
  for (int64_t i = 0; i < count; i++)
    list[i] = least + (double)(dm_mix((uint64_t)i + 1) >> 11) * 0x1p-53;
  return list;
}

static void check_copy(dm_backend *gpu, pair from, bool by_columns, dm_dtype type, bool by_rows,
                       const dm_gaps *gaps, dm_role role) {
  const int64_t rows = from.host.rows, cols = from.host.cols, most = rows > cols ? rows : cols;
  const dm_generator generator = {.kind = DM_CONSTANT, .parameter = 9};
  pair to = (by_columns ? make_pair_by_columns : make_pair)(gpu, type, rows, cols, 3, generator);
  double *lists[5];
  for (int i = 0; i < 5; i++) lists[i] = random_numbers(2 * most, 0.5 * i);
  for (int64_t i = 0; i < most && by_columns; i += 3) lists[3][i] = DM_LEFT_OUT;
  const dm_centering c = {.lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES,
                          .role = role,
                          .parts = parts_of(from.host),
                          .power = by_columns ? lists[4] : NULL,
                          .shift = lists[0],
                          .factor = lists[1],
                          .fill = by_columns ? lists[2] : NULL,
                          .weight_lines = by_rows ? DM_COLUMN_LINES : DM_ROW_LINES,
                          .weight = lists[3]};
  ok(dm_backend_center(gpu, to.device, from.device, gaps, &c));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      double x[2];
      load(from.host, gaps, i, j, x);
      dm_centering_apply(&c, i, j, false, x, c.parts == 2, 1);
      dm_store_wide(dm_view_at(to.host, i, j), type, 1, x, 1);
    }
  double *want = widened(to.host_all), *got;
  move(gpu, to.host_all, to.device_all);
  got = widened(to.host_all);
  for (int64_t i = 0; i < to.host_all.rows * to.host_all.cols * c.parts; i++)
    if (got[i] != want[i] && !(isnan(got[i]) && isnan(want[i])))
      fail_msg("%s to %s, %lld x %lld: %g, not %g", dm_dtype_name(from.host.dtype),
               dm_dtype_name(type), (long long)rows, (long long)cols, got[i], want[i]);
  for (int i = 0; i < 5; i++) free(lists[i]);
  free(want), free(got);
  free_pair(gpu, to);
}

static const dm_gaps gaps_of[] = {{.count = 0},
                                  {.nan = true, .count = 1, .values = {5.0}},
                                  {.nan = true, .zero = true, .count = 1, .values = {5.0}}};

static void try_shape(dm_backend *gpu, dm_dtype dtype, const int64_t *shape) {
  const int64_t most = shape[0] > shape[1] ? shape[0] : shape[1];
  double *weights = random_numbers(most, 0.25), *some = random_numbers(most, 0.25);
  double *powers = random_numbers(most, 0.0);
  for (int64_t i = 0; i < most; i++) {
    if (i % 3 == 1) some[i] = DM_LEFT_OUT;
    powers[i] = i % 2 ? 0x1p40 : 0x1p-9;
  }
  for (int turn = 0; turn < 12; turn++) {
    const bool by_columns = turn & 1, by_rows = turn & 2;
    const dm_gaps *gaps = &gaps_of[turn / 4];
    pair p = make(gpu, dtype, shape, by_columns, turn % 5, turn >= 4);
    check_moments(gpu, p, by_rows, gaps, NULL, NULL);
    check_moments(gpu, p, by_rows, gaps, weights, NULL);
    check_moments(gpu, p, by_rows, gaps, some, powers);
    const dm_dtype wide = dm_dtype_is_complex(dtype) ? DM_C128 : DM_F64;
    check_copy(gpu, p, by_columns, wide, by_rows, gaps, (dm_role)(turn % 3));
    if (!dm_dtype_is_integer(dtype))
      check_copy(gpu, p, by_columns, dtype, by_rows, gaps, DM_ROLE_VALUES);
    free_pair(gpu, p);
  }
  free(weights), free(some), free(powers);
}

/* Differences whose squares vanish are differences. */
TEST(vanishing_squares) {
  dm_backend *gpu = *state;
  const dm_gaps gaps = {.count = 0};
  for (int turn = 0; turn < 4; turn++) {
    const int64_t shape[] = {turn < 2 ? 2000 : 7, 5};
    const bool by_columns = turn & 1;
    const dm_generator generator = {.kind = DM_UNIFORM, .seed = 3};
    pair p = (by_columns ? make_pair_by_columns : make_pair)(gpu, DM_F64, shape[0], shape[1], 0,
                                                             generator);
    double numbers[DM_MOMENTS * 5], powers[5] = {0x1p600, 1.0, 1.0, 1.0, 0x1p600};
    int64_t first;
    for (int64_t i = 0; i < shape[0]; i++)
      for (int64_t j = 0; j < 4; j++) {
        double *x = dm_view_at(p.host, i, j);
        *x = j == 3 ? 1e-200 : *x * (j == 2 ? 1e-161 : 1e-200);
      }
    move(gpu, p.device_all, p.host_all);
    const dm_moments_how plain = {false, &gaps, NULL, NULL}, scaled = {false, &gaps, powers, NULL};
    ok(dm_backend_moments(gpu, p.device, &plain, numbers, &first));
    const double *squares = numbers + DM_SQUARES * 5;
    assert_true(squares[0] > 0.0 && squares[1] > 0.0 && squares[2] > 0.0);
    assert_true(squares[0] < 1e-300 && squares[3] == 0.0);
    ok(dm_backend_moments(gpu, p.device, &scaled, numbers, &first));
    const wanted w = sum_line(p.host, &scaled, 0);
    check_line(&w, numbers, 5, 1);
    free_pair(gpu, p);
  }
}

TEST(moments_and_copies) {
  dm_backend *gpu = *state;
  for (int t = 0; t < TYPES; t++)
    for (int s = 0; s < SHAPES; s++) try_shape(gpu, types[t], shapes[s]);
}

CUDA_TESTS(test_cuda_moments)
