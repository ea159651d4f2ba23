/* A line of numbers as a matrix, or as a triangle of a symmetric one (--shape-a, --packed-a). */
#include <math.h>
#include <string.h>

#include "core/checked.h"
#include "dataset/composite.h"
#include "dataset/naming.h"
#include "inspect/inspect_impl.h"

/* The n of n(n + 1)/2 = COUNT; 0: there is none. */
int64_t dm_fold_side(int64_t count) {
  if (count < 1 || count > (int64_t)1 << 60) return 0;
  int64_t n = (int64_t)((sqrt(8.0 * (double)count + 1) - 1) / 2);
  for (int64_t i = dm_max(1, n - 2); i <= n + 2; i++)
    if (i * (i + 1) / 2 == count) return i;
  return 0;
}

static dm_status is_no_line(const dm_dataset *find) {
  char shape[DM_SHAPE_TEXT];
  const dm_axes axes = dm_dataset_axes(find);
  return dm_hint(dm_fail_at(DM_E_INPUT, &find->at, "is %s, and no line of numbers",
                            dm_axes_text(&axes, shape)),
                 "--shape-a and --packed-a (-b) are for datasets of one dimension; --row-axes-a %d "
                 "(-b) makes a column of this one",
                 axes.count);
}

/* Makes FIND, whose axes but one have an extent of 1, a single row. */
static dm_status lay_line(dm_dataset *find) {
  const dm_axes axes = dm_dataset_axes(find);
  int longer = 0;
  for (int i = 0; i < axes.count; i++) longer += axes.extent[i] != 1;
  if (longer > 1 || dm_dataset_is_empty(find)) return is_no_line(find);
  if (find->genotypes || (find->by_columns && find->rows != 1)) return is_no_line(find);
  find->by_columns = false; /* of one row it says nothing */
  if (find->composite) return find->rows == 1 ? DM_OK : is_no_line(find);
  (void)dm_dataset_lay(find, &axes, 0);
  return DM_OK;
}

static dm_status wrong_shape(const dm_dataset *find, int64_t rows, int64_t cols) {
  const int64_t square = (int64_t)(sqrt((double)find->cols) + 0.5);
  dm_status status = dm_fail_at(DM_E_INPUT, &find->at, "has %lld numbers, and %lld x %lld are %lld",
                                (long long)find->cols, (long long)rows, (long long)cols,
                                (long long)dm_sat_mul(rows, cols));
  if (square * square == find->cols)
    return dm_hint(status, "it may be %lld x %lld", (long long)square, (long long)square);
  return dm_fold_side(find->cols) > 0
             ? dm_hint(status, "it may be a triangle of %lld rows: --packed-a lower or upper",
                       (long long)dm_fold_side(find->cols))
             : status;
}

/* One patch, or of a line that is made of parts one for each row. */
static dm_status fold_whole(const dm_dataset *line, const dm_fold *fold, dm_composer *made) {
  const bool by_rows = fold->way == DM_FOLD_ROWS;
  const dm_patch all = {.rows = fold->rows,
                        .cols = fold->cols,
                        .row_step = by_rows ? fold->cols : 1,
                        .col_step = by_rows ? 1 : fold->rows,
                        .folded = 1};
  if (!line->composite) return dm_composer_add_part(made, line, &all);
  for (int64_t i = 0; i < fold->rows; i++) {
    const dm_patch row = {.row = i, .rows = 1, .cols = fold->cols, .source_col = i * fold->cols};
    DM_TRY(dm_composer_add_part(made, line, &row));
  }
  return DM_OK;
}

/* Each row of the triangle, and the same numbers as a column of the other one. */
static dm_status fold_triangle(const dm_dataset *line, bool lower, int64_t n, dm_composer *made) {
  dm_dataset column = *line;
  const dm_axes axes = dm_dataset_axes(line);
  (void)dm_dataset_lay(&column, &axes, axes.count);
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t count = lower ? i + 1 : n - i, first = lower ? 0 : i, off = lower ? 0 : i + 1;
    const dm_patch row = {.row = i, .rows = 1, .col = first, .cols = count, .source_col = at};
    const dm_patch image = {
        .row = off, .rows = count - 1, .col = i, .cols = 1, .source_row = at + (lower ? 0 : 1)};
    DM_TRY(dm_composer_add_part(made, line, &row));
    if (count > 1) DM_TRY(dm_composer_add_part(made, &column, &image));
    at += count;
  }
  return DM_OK;
}

/* Whether the numbers lie in the file as those of a plain matrix do. */
static bool lies_plainly(const dm_dataset *find, const dm_fold *fold) {
  return find->offset >= 0 && !find->composite && !find->by_columns && !find->genotypes &&
         find->compound.bytes == 0 && find->parts == DM_PARTS_TOGETHER &&
         !dm_meaning_points(&find->meaning) &&
         (fold->way == DM_FOLD_ROWS || (fold->way == DM_FOLD_COLUMNS && !find->meaning.active));
}

static void lay_plainly(const dm_fold *fold, dm_dataset *find) {
  find->axes = (dm_axes){0};
  find->vector = DM_NO_VECTOR;
  find->rows = fold->rows;
  find->cols = fold->cols;
  find->by_columns = fold->way == DM_FOLD_COLUMNS;
}

static dm_status examine_fold_compose(const dm_fold *fold, dm_dataset *find) {
  dm_dataset line = *find;
  dm_composer made = {NULL};
  const bool triangle = fold->way == DM_FOLD_LOWER || fold->way == DM_FOLD_UPPER;
  if (line.composite && fold->way != DM_FOLD_ROWS)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, &find->at, "is made of parts, which are folded only row after row"),
        "name a whole, stored dataset");
  find->composite = NULL;
  const int64_t rows = triangle ? dm_fold_side(find->cols) : fold->rows;
  dm_status status = triangle ? fold_triangle(&line, fold->way == DM_FOLD_LOWER, rows, &made)
                              : fold_whole(&line, fold, &made);
  if (!status)
    status = dm_composer_finish_dataset(&made, rows, triangle ? rows : fold->cols, &line, find);
  dm_composer_free(&made);
  dm_dataset_free(&line);
  return dm_file_named(status, &find->at);
}

dm_status dm_examine_fold(const dm_fold *fold, dm_dataset *find) {
  int64_t elements;
  const bool triangle = fold->way == DM_FOLD_LOWER || fold->way == DM_FOLD_UPPER;
  DM_TRY(lay_line(find));
  if (triangle && dm_dtype_is_complex(find->dtype))
    return dm_hint(dm_fail_at(DM_E_INPUT, &find->at,
                              "is complex: is the other triangle its image, or the conjugate?"),
                   "store the whole matrix");
  if (triangle && dm_fold_side(find->cols) == 0)
    return dm_fail_at(DM_E_INPUT, &find->at,
                      "has %lld numbers, which are not a triangle of n(n + 1)/2",
                      (long long)find->cols);
  if (!triangle && (dm_mul_overflows(fold->rows, fold->cols, &elements) || elements != find->cols))
    return wrong_shape(find, fold->rows, fold->cols);
  if (!lies_plainly(find, fold)) return examine_fold_compose(fold, find);
  lay_plainly(fold, find);
  return DM_OK;
}
