/* dm_copy between all pairs of types, layouts and sizes, compared with copies of single elements.
 */
#include "cpu_cases.h"

typedef enum layout { ROWS, COLUMNS, PADDED, SPREAD, TURNED_PADDED, LAYOUTS } layout;

/* A ROWS x COLS view of DTYPE in its own memory. */
static dm_view view_of(dm_dtype dtype, layout how, int64_t rows, int64_t cols, int64_t *bytes) {
  dm_view view = {.dtype = dtype, .rows = rows, .cols = cols};
  switch (how) {
  case ROWS:
    view.row_stride = cols, view.col_stride = 1;
    break;
  case COLUMNS:
    view.row_stride = 1, view.col_stride = rows;
    break;
  case PADDED:
    view.row_stride = cols + 5, view.col_stride = 1;
    break;
  case SPREAD:
    view.row_stride = 3 * cols + 2, view.col_stride = 3;
    break;
  default:
    view.row_stride = 1, view.col_stride = rows + 3;
    break;
  }
  int64_t last = (rows - 1) * view.row_stride + (cols - 1) * view.col_stride;
  *bytes = (last + 1) * dm_dtype_size(dtype);
  view.base = malloc((size_t)*bytes);
  assert_non_null(view.base);
  memset(view.base, GUARD, (size_t)*bytes);
  return view;
}

/* Bytes outside of elements must not change. */
static int64_t untouched(dm_view view, int64_t bytes) {
  const int64_t size = dm_dtype_size(view.dtype);
  char *seen = calloc((size_t)bytes, 1);
  assert_non_null(seen);
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++)
      memset(seen + ((char *)dm_view_at(view, i, j) - (char *)view.base), 1, (size_t)size);
  int64_t changed = 0;
  for (int64_t b = 0; b < bytes; b++) changed += !seen[b] && ((char *)view.base)[b] != GUARD;
  free(seen);
  return changed;
}

static void copy_and_compare(dm_dtype to, layout to_layout, dm_dtype from, layout from_layout,
                             int64_t rows, int64_t cols, bool conjugate) {
  int64_t from_bytes, to_bytes;
  dm_view src = view_of(from, from_layout, rows, cols, &from_bytes);
  dm_view dst = view_of(to, to_layout, rows, cols, &to_bytes);
  /* All types can represent integers up to 100. */
  dm_fill(src, &(dm_generator){.kind = DM_INTEGER, .seed = 4, .parameter = 100}, 0, 0);
  dm_copy(dst, src, conjugate);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      double want[2], got[2];
      load(src, i, j, want);
      load(dst, i, j, got);
      if (conjugate) want[1] = -want[1];
      if (!dm_dtype_is_complex(to)) want[1] = 0.0;
      if (got[0] != want[0] || got[1] != want[1])
        fail_msg("%s %d from %s %d, %lld x %lld: (%lld, %lld) is %g %g, wanted %g %g",
                 dm_dtype_name(to), to_layout, dm_dtype_name(from), from_layout, (long long)rows,
                 (long long)cols, (long long)i, (long long)j, got[0], got[1], want[0], want[1]);
    }
  }
  assert_int_equal(untouched(dst, to_bytes), 0);
  free(src.base);
  free(dst.base);
}

TEST(all_pairs) {
  static const int64_t shapes[][2] = {{1, 1}, {7, 5}, {1, 300}, {300, 1}, {65, 131}, {3, 257}};
  for (dm_dtype to = 0; to < DM_DTYPE_COUNT; to++)
    for (dm_dtype from = 0; from < DM_DTYPE_COUNT; from++)
      for (int pair = 0; pair < LAYOUTS * LAYOUTS; pair++) {
        const int64_t *s = shapes[(pair + (int)to + (int)from) % 6];
        copy_and_compare(to, (layout)(pair / LAYOUTS), from, (layout)(pair % LAYOUTS), s[0], s[1],
                         pair % 2);
      }
}

TEST(nothing_is_copied) {
  dm_view none = dm_view_row_major(NULL, DM_F64, 0, 5);
  dm_copy(none, none, false);
  none.rows = 5, none.cols = 0;
  dm_copy(none, none, true);
}

TEST(values_that_do_not_fit) {
  const double values[] = {1e300, -1e300, 0.5, 1.5, 2.5, -0.5, 127.4, 127.6, -128.6, 3e9};
  const int8_t want8[] = {127, -128, 0, 2, 2, 0, 127, 127, -128, 127};
  const int32_t want32[] = {INT32_MAX, INT32_MIN, 0, 2, 2, 0, 127, 128, -129, INT32_MAX};
  int8_t small[10];
  int32_t whole[10];
  float single[10];
  dm_store_wide(small, DM_I8, 1, values, 10);
  dm_store_wide(whole, DM_I32, 1, values, 10);
  dm_store_wide(single, DM_F32, 1, values, 10);
  assert_memory_equal(small, want8, sizeof small);
  assert_memory_equal(whole, want32, sizeof whole);
  assert_true(isinf(single[0]) && single[1] < 0 && isinf(single[1]));
}

TEST(bytes_turn_round) {
  for (dm_dtype dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    unsigned char data[3 * 16], turned[3 * 16];
    const int64_t part = dm_dtype_size(dm_dtype_real(dtype)), bytes = 3 * dm_dtype_size(dtype);
    for (int64_t i = 0; i < bytes; i++) {
      data[i] = (unsigned char)i;
      turned[i / part * part + part - 1 - i % part] = (unsigned char)i;
    }
    dm_swap_bytes(data, dtype, 3);
    assert_memory_equal(data, turned, (size_t)bytes);
  }
}

/* From the given row on elements below the diagonal are mirrored, and nothing else is written. */
TEST(mirrored_squares) {
  enum { MOST = 130 };
  static double before[MOST * MOST * 2], after[MOST * MOST * 2];
  static const int sides[] = {1, 2, 63, 64, 65, 130};
  for (int s = 0; s < 6; s++)
    for (int first = 0; first <= sides[s]; first += 1 + sides[s] / 3)
      for (int is_complex = 0; is_complex < 2; is_complex++) {
        const int n = sides[s], parts = 1 + is_complex;
        for (int i = 0; i < n * n * parts; i++) before[i] = after[i] = i + 1;
        const dm_view square = dm_view_row_major(after, is_complex ? DM_C128 : DM_F64, n, n);
        for (int row = 0; row < n; row += 50)
          dm_mirror(square, first, row, n - row < 50 ? n - row : 50, is_complex);
        for (int i = 0; i < n; i++)
          for (int j = 0; j < n; j++) {
            const bool image = j > i && j >= first;
            const double *now = &after[(i * n + j) * parts];
            const double *was = &before[(image ? j * n + i : i * n + j) * parts];
            assert_true(now[0] == was[0]);
            if (is_complex)
              assert_true(now[1] == (image ? -was[1] : i == j && i >= first ? 0 : was[1]));
          }
      }
}

TEST(cleared_halves) {
  double elements[12];
  for (int below = 0; below < 2; below++)
    for (int row = -2; row < 6; row++) {
      const dm_view view = dm_view_row_major(elements, DM_F64, 3, 4);
      for (int i = 0; i < 12; i++) elements[i] = 1;
      dm_clear_triangle(view, row, 1, below);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
          assert_true(elements[i * 4 + j] == (below ? row + i <= 1 + j : row + i >= 1 + j));
    }
}

RUN_ALL(test_core_copy)
