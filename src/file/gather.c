#include "file/gather.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

enum { WINDOW = 1 << 21 }; /* bytes of rows of several picks: all look at each piece of it */

dm_status dm_gather_new(int64_t count, int64_t views, dm_gather **gather) {
  dm_gather *new;
  DM_TRY(dm_buffer_table(1, &new));
  dm_status status = dm_buffer_table(count, &new->picks);
  if (!status) status = dm_buffer_table(views, &new->views);
  if (status) {
    dm_gather_free(new);
    return status;
  }
  *gather = new;
  return DM_OK;
}

void dm_gather_free(dm_gather *gather) {
  if (!gather) return;
  free(gather->picks);
  free(gather->views);
  free(gather);
}

dm_view *dm_gather_views(const dm_gather *gather) {
  return gather->views + gather->used;
}

void dm_gather_add(dm_gather *gather, const dm_request *pick) {
  gather->picks[gather->count++] = *pick;
  gather->used += pick->count;
}

static int64_t first_row(const dm_request *r) {
  return dm_line_at(r->rows, r->part.row);
}

static int64_t last_row(const dm_request *r) {
  return dm_line_at(r->rows, r->part.row + r->part.rows - 1);
}

static int64_t first_col(const dm_request *r) {
  return dm_line_at(r->cols, r->part.col);
}

static int64_t last_col(const dm_request *r) {
  return dm_line_at(r->cols, r->part.col + r->part.cols - 1);
}

/* The step of its rows; of a single row it means nothing. */
static int64_t row_step(const dm_request *r) {
  return r->part.rows > 1 ? r->rows.step : 1;
}

static int in_order(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int by_rows(const dm_request *a, const dm_request *b) {
  const int row = in_order(first_row(a), first_row(b));
  if (row) return row;
  const int rows = in_order(a->part.rows, b->part.rows);
  return rows ? rows : in_order(row_step(a), row_step(b));
}

static int by_place(const void *a, const void *b) {
  const int rows = by_rows(a, b);
  return rows ? rows : in_order(first_col(a), first_col(b));
}

void dm_gather_sort(dm_gather *gather) {
  qsort(gather->picks, (size_t)gather->count, sizeof *gather->picks, by_place);
}

/* Columns that are less than this apart are read together: HDF5 would unpack their chunk again. */
static int64_t near(const dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  const int64_t near = DM_READ_BETWEEN / dm_dtype_size(d->dtype);
  return d->offset < 0 ? dm_max(near, dm_min(d->chunk_cols, d->cols)) : near;
}

/* Whether PICK is read without a call for each of its elements. */
static bool is_dense(const dm_reader *reader, const dm_request *pick) {
  return pick->part.cols == 1 || pick->cols.step <= near(reader);
}

/* What windows have: the rectangle of the dataset, and the distance of its rows. */
typedef struct window {
  int64_t top, bottom, left, right; /* first and last */
  int64_t step;
} window;

/* Whether PICK, which has the same rows as W, is near its columns. */
static bool is_beside(const dm_reader *reader, const window *w, const dm_request *pick) {
  return first_col(pick) - w->right <= near(reader);
}

/* Adds the picks with the same rows as pick FIRST that are near it, and returns the next one. */
static int64_t take_beside(const dm_gather *g, const dm_reader *reader, int64_t first, window *w) {
  const dm_request *pick = &g->picks[first];
  *w = (window){first_row(pick), last_row(pick), first_col(pick), last_col(pick), row_step(pick)};
  int64_t next = first + 1;
  if (!is_dense(reader, pick)) return next;
  for (; next < g->count; next++) {
    const dm_request *other = &g->picks[next];
    if (by_rows(pick, other) != 0 || !is_dense(reader, other) || !is_beside(reader, w, other))
      break;
    w->right = dm_max(w->right, last_col(other));
  }
  return next;
}

/* Joins MORE, whose rows follow, to W, if all is read with one call; false: it is not. */
static bool join(const dm_reader *reader, window *w, const window *more) {
  const int64_t row = reader->dataset.cols * dm_dtype_size(reader->dataset.dtype);
  if (reader->dataset.offset < 0 || more->top < w->bottom || row > DM_READ_BETWEEN ||
      more->top - w->bottom > DM_READ_BETWEEN / row || w->step > DM_READ_BETWEEN / row ||
      more->step > DM_READ_BETWEEN / row || more->bottom - w->top >= WINDOW / row)
    return false;
  w->bottom = more->bottom;
  w->left = dm_min(w->left, more->left);
  w->right = dm_max(w->right, more->right);
  w->step = 1;
  return true;
}

/* The request that reads W. */
static dm_request request_of(const window *w, const dm_request *picks, int64_t count) {
  const int64_t rows = (w->bottom - w->top) / w->step + 1;
  const bool steps = w->step > 1;
  return (dm_request){.part = {steps ? 0 : w->top, w->left, rows, w->right - w->left + 1},
                      .rows = {steps ? w->top : 0, w->step},
                      .cols = {0, 1},
                      .picks = picks,
                      .count = count,
                      .row = picks->row,
                      .col = picks->col};
}

bool dm_gather_next(dm_gather *g, const dm_reader *reader, dm_request *request) {
  const int64_t first = g->at;
  window w, more;
  if (first == g->count) return false;
  int64_t end = take_beside(g, reader, first, &w);
  while (end < g->count && is_dense(reader, &g->picks[first])) {
    const int64_t next =
        is_dense(reader, &g->picks[end]) ? take_beside(g, reader, end, &more) : end;
    if (next == end || !join(reader, &w, &more)) break;
    end = next;
  }
  g->at = end;
  *request = end == first + 1 ? g->picks[first] : request_of(&w, &g->picks[first], end - first);
  return true;
}
