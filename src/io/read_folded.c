/* Requests of a line of numbers that is folded into a matrix: element (row, col) is one of the
 * dataset's only row, so that a chunk has the end of one row of the matrix, some whole ones, and
 * the beginning of another. Folded by columns, the request is turned. */
#include "core/checked.h"
#include "io/read_impl.h"

dm_status dm_request_of_fold(const dm_reader *reader, const dm_patch *patch, const dm_view *views,
                             int64_t count, bool conjugate, dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  const bool turned = patch->row_step < patch->col_step;
  const int64_t lines = turned ? patch->cols : patch->rows;
  *request =
      (dm_read_request){.part = {.rows = lines, .cols = turned ? patch->rows : patch->cols},
                        .rows = {patch->source_col, turned ? patch->col_step : patch->row_step},
                        .cols = {0, turned ? patch->row_step : patch->col_step},
                        .views = views,
                        .count = count,
                        .conjugate = conjugate,
                        .turned = turned,
                        .folded = lines > 1,
                        .row = patch->row,
                        .col = patch->col};
  if (dm_request_folded_at(request, lines - 1, request->part.cols - 1) >= d->cols || d->rows != 1 ||
      (lines > 1 && !reader->chunks))
    return dm_fail_at(DM_E_BUG, &d->at, "its line cannot be read as %lld x %lld",
                      (long long)patch->rows, (long long)patch->cols);
  if (lines > 1) return DM_OK;
  request->cols.first = request->rows.first;
  request->rows = (dm_line){0, 1};
  return DM_OK;
}

bool dm_request_folded_next(const dm_read_request *request, const dm_stretch *run, int64_t *row,
                            dm_rectangle *found, int64_t *place) {
  const int64_t rows = request->part.rows, cols = request->part.cols;
  const int64_t down = request->rows.step, right = request->cols.step;
  const int64_t first = dm_request_folded_at(request, 0, 0), width = (cols - 1) * right;
  const int64_t end = run->first + run->length;
  if (first + width < run->first)
    *row = dm_max(*row, dm_ceil_div(run->first - first - width, down));
  for (int64_t start; *row < rows && (start = first + *row * down) < end; ++*row) {
    const int64_t left = start < run->first ? dm_ceil_div(run->first - start, right) : 0;
    const int64_t some = dm_min(cols, dm_ceil_div(end - start, right)) - left;
    if (some <= 0) continue;
    const int64_t whole =
        some == cols ? dm_min(rows - *row, (end - 1 - width - start) / down + 1) : 1;
    *found = (dm_rectangle){request->part.row + *row, request->part.col + left, whole, some};
    *place = start + left * right - run->first;
    *row += whole;
    return true;
  }
  return false;
}
