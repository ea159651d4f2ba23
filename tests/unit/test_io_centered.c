/* Elements are centered as they are read, whether rows are read one by one or, if they are short
 * and packed, several at a time. */
#include "file_cases.h"
#include "plan/partition.h"
#include "plan/plan.h"

enum { LONGEST = 300, MOST = 130 };

/* What is subtracted and so on, of each line. */
static double power[LONGEST], shift[LONGEST], factor[LONGEST], fill[LONGEST];

static void state_lines(void) {
  for (int i = 0; i < LONGEST; i++) {
    power[i] = i % 3 ? 1.0 : 0.5;
    shift[i] = i % 7 - 3.0;
    factor[i] = i % 2 ? 2.0 : 0.25;
    fill[i] = i % 5 + 100.0;
  }
}

static double given(int64_t row, int64_t col) {
  return (row + 2 * col) % 17 == 5 ? (double)NAN : element_of(row, col, 0);
}

static double centered(const dm_centering *c, int64_t row, int64_t col) {
  const int64_t line = c->lines == DM_ROW_LINES ? row : col;
  double value = given(row, col) * power[line];
  if (isnan(value)) value = fill[line];
  return (value - shift[line]) * factor[line];
}

/* Reads ROWS x COLS elements from (row, col) on of a matrix in memory, stored by columns if TURNED,
 * to memory whose lines are GAP apart. */
static void read_part(const dm_centering *c, dm_view matrix, dm_dtype to, dm_extent part,
                      int64_t gap) {
  static double made[LONGEST * (MOST + 1)];
  const int64_t rows = dm_range_size(part.rows), cols = dm_range_size(part.cols);
  const bool turned = matrix.row_stride < matrix.col_stride;
  dm_dataset set = {.rows = matrix.rows, .cols = matrix.cols, .dtype = matrix.dtype};
  dm_view view = turned
                     ? dm_view_transpose(dm_view_strided(made, to, DM_HOST, cols, rows, rows + gap))
                     : dm_view_strided(made, to, DM_HOST, rows, cols, cols + gap);
  dm_reader *reader;
  dm_dataset_set_memory(&set, matrix);
  set.centering = c;
  ok(dm_reader_open(&set, DM_DTYPE_NONE, &reader));
  ok(dm_reader_read(reader, part.rows.begin, part.cols.begin, &view, 1, false));
  dm_reader_close(reader);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      double found;
      dm_load_wide(&found, dm_view_at(view, i, j), to, 1, 1);
      assert_true(found == centered(c, part.rows.begin + i, part.cols.begin + j));
    }
}

TEST(short_rows) {
  static const int64_t widths[] = {1, 2, 3, 10, 32, 33, 60, 64, 85, 128, 129};
  static double memory[LONGEST * MOST];
  state_lines();
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int kind = 0; kind < 8; kind++) {
      const bool turned = kind & 1, by_rows = kind & 2;
      const dm_dtype type = kind & 4 ? DM_F32 : DM_F64;
      const int64_t few = widths[w], rows = turned ? few : LONGEST, cols = turned ? LONGEST : few;
      const dm_centering c = {.lines = by_rows ? DM_ROW_LINES : DM_COLUMN_LINES,
                              .count = by_rows ? rows : cols,
                              .parts = 1,
                              .complete = -1,
                              .power = power,
                              .shift = shift,
                              .factor = factor,
                              .fill = fill};
      const dm_view m = turned ? dm_view_transpose(dm_view_row_major(memory, type, cols, rows))
                               : dm_view_row_major(memory, type, rows, cols);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
          const double value = given(i, j);
          dm_store_wide(dm_view_at(m, i, j), type, 1, &value, 1);
        }
      for (int64_t gap = 0; gap < 2; gap++) {
        read_part(&c, m, type, (dm_extent){{0, rows}, {0, cols}}, gap);
        read_part(&c, m, DM_F64, (dm_extent){{rows / 3, rows}, {0, cols}}, gap);
        read_part(&c, m, type, (dm_extent){{0, rows}, {cols / 3, cols}}, gap);
      }
    }
}

RUN_ALL(test_io_centered)
