/* Strips of a matrix that travels: every rank that needs an element gets it once, from the rank
 * that has it. */
#include "core/buffer.h"
#include "core/checked.h"
#include "layout/broadcast.h"
#include "plan/partition.h"
#include "plan_cases.h"

enum { RANKS = 8, MOST = 2000 };

/* Equal parts, DOWN of the rows; ranks are numbered along the rows. */
static void divide(int ranks, int64_t rows, int64_t cols, int down, dm_distribution *of) {
  const int across = ranks / down;
  *of = (dm_distribution){0};
  ok(dm_axis_cyclic(rows, dm_max(1, dm_ceil_div(rows, down)), down, 0, &of->rows));
  ok(dm_axis_cyclic(cols, dm_max(1, dm_ceil_div(cols, across)), across, 0, &of->cols));
  ok(dm_distribution_ranks(of));
  for (int i = 0; i < down * across; i++) of->ranks[i] = i;
}

/* Its strips are its columns once, with all rows. */
static void check_taker(const dm_strips *s, int ranks, int taker, int64_t depth) {
  int64_t cols = 0;
  for (int64_t strip = 0; strip < s->count; strip++) {
    int64_t rows = 0;
    if (!dm_strips_takes(s, strip, taker)) continue;
    const dm_range range = dm_strips_cols(s, strip, taker);
    cols += dm_range_size(range);
    assert_true(dm_range_size(range) <= s->most_cols);
    for (int giver = 0; giver < ranks; giver++) {
      if (!dm_strips_moves(s, strip, giver, taker)) continue;
      assert_true(s->cols[giver].begin <= range.begin && range.end <= s->cols[giver].end);
      rows += dm_range_size(s->rows[giver]);
    }
    assert_int_equal(rows, depth);
  }
  assert_int_equal(cols, dm_range_size(s->wanted[taker]));
}

/* At each strip a rank gives the same piece to all that take it. */
static void check_giver(const dm_strips *s, int ranks, int giver) {
  for (int64_t strip = 0; strip < s->count; strip++)
    for (int taker = 0; taker < ranks; taker++) {
      if (!dm_strips_moves(s, strip, giver, taker)) continue;
      const dm_range given = dm_strips_cols(s, strip, giver);
      const dm_range taken = dm_strips_cols(s, strip, taker);
      assert_true(given.begin == taken.begin && given.end == taken.end);
    }
}

static dm_strip_widths drawn_widths(dice *d) {
  dm_strip_widths widths = roll(d, 0, 1) ? dm_plain_strips : dm_prepared_strips;
  widths.most = roll(d, 1, 1 << 20);
  return widths;
}

static bool try_case(dice *d, int down, int down_of_c) {
  const int ranks = (int)roll(d, 1, RANKS);
  const int64_t depth = roll(d, 1, 50), cols = roll(d, 1, MOST), rows = roll(d, 1, 60);
  dm_distribution of, c;
  dm_strips s;
  bool fits;
  divide(ranks, depth, cols, down < 0 ? ranks : (int)dm_min(down, ranks), &of);
  divide(ranks, rows, cols, down_of_c < 0 ? ranks : (int)dm_min(down_of_c, ranks), &c);
  const dm_strip_widths widths = drawn_widths(d);
  ok(dm_strips_open(&of, &c, ranks, NULL, 8, &widths, &s, &fits));
  for (int r = 0; r < ranks && fits; r++) {
    check_taker(&s, ranks, r, depth);
    check_giver(&s, ranks, r);
  }
  dm_strips_close(&s);
  dm_distribution_free(&of);
  dm_distribution_free(&c);
  return fits;
}

/* DOWN: parts of rows of the matrix and of C, -1: all ranks. */
TEST(strips_reach_all) {
  dice d = {.seed = 5};
  for (int i = 0; i < many(2000); i++) {
    assert_true(try_case(&d, -1, -1)); /* rows travel to rows of C */
    assert_true(try_case(&d, 1, -1));  /* columns */
    assert_true(try_case(&d, 2, 2));   /* blocks to blocks of one grid */
    assert_true(try_case(&d, -1, 1));  /* rows to columns of C */
    (void)try_case(&d, (int)roll(&d, 1, RANKS), (int)roll(&d, 1, RANKS));
  }
}

/* Columns of C outside of its square of which RANK multiplies an element come once, others at most
 * once. */
static void check_images(const dm_strips *s, const dm_mirror_rows *images, int ranks, int rank) {
  for (int64_t col = 0; col < images->rows[ranks - 1].end; col++) {
    int taken = 0;
    for (int64_t strip = 0; strip < s->count; strip++) {
      const dm_range cols = dm_strips_cols(s, strip, rank);
      if (!dm_strips_takes(s, strip, rank) || col < cols.begin || col >= cols.end) continue;
      int givers = 0;
      for (int r = 0; r < ranks; r++) givers += dm_strips_moves(s, strip, r, rank);
      assert_true(givers > 0);
      taken++;
    }
    assert_in_range(taken, dm_mirror_rows_need(images, rank, (dm_range){col, col + 1}), 1);
  }
}

/* Op(B) = op(A)^T has columns as C has rows, or rows. */
static void try_images(dice *d, int down) {
  const int ranks = (int)roll(d, 2, RANKS);
  const int64_t n = roll(d, 1, MOST), depth = roll(d, 1, 50);
  dm_distribution of, c;
  dm_range *rows;
  dm_mirror_rows images;
  dm_strips s;
  dm_extent part;
  int64_t bytes;
  bool fits;
  divide(ranks, depth, n, down < 0 ? ranks : down, &of);
  divide(ranks, n, n, ranks, &c);
  ok(dm_buffer_table(ranks, &rows));
  for (int r = 0; r < ranks; r++) {
    assert_true(dm_distribution_extent(&c, r, &part));
    rows[r] = part.rows;
  }
  ok(dm_mirror_rows_open(rows, ranks, 8, false, &images, &bytes));
  const dm_strip_widths widths = drawn_widths(d);
  ok(dm_strips_open(&of, &c, ranks, &images, 8, &widths, &s, &fits));
  assert_true(fits);
  for (int r = 0; r < ranks; r++) check_images(&s, &images, ranks, r);
  dm_strips_close(&s);
  dm_mirror_rows_close(&images);
  dm_distribution_free(&of);
  dm_distribution_free(&c);
}

TEST(strips_of_images) {
  dice d = {.seed = 6};
  for (int i = 0; i < many(60); i++) {
    try_images(&d, 1);
    try_images(&d, -1);
  }
}

RUN_ALL(test_layout_strips)
