#include "io/gather.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

/* Bytes of rows of several picks: all look at each piece of it. */
enum { GATHER_WINDOW = 1 << 21, FIRST_ROOM = 16, FEW_ROWS = 16 };

dm_status dm_gather_new(int64_t views, dm_read_gather **gather) {
  dm_read_gather *new;
  DM_TRY(dm_buffer_table(1, &new));
  dm_status status = dm_buffer_table(views, &new->views);
  if (status) {
    free(new);
    return status;
  }
  *gather = new;
  return DM_OK;
}

void dm_gather_free(dm_read_gather *gather) {
  if (!gather) return;
  free(gather->picks);
  free(gather->views);
  free(gather);
}

dm_view *dm_gather_views(const dm_read_gather *gather) {
  return gather->views + gather->used;
}

static int64_t first_col(const dm_read_request *r) {
  return dm_line_at(r->cols, r->part.col);
}

static int64_t last_col(const dm_read_request *r) {
  return dm_line_at(r->cols, r->part.col + r->part.cols - 1);
}

/* Columns that are less than this apart are read together: HDF5 would unpack their chunk again. */
static int64_t gather_near(const dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  const int64_t near = DM_READ_BETWEEN / dm_dtype_size(d->dtype);
  return d->offset < 0 ? dm_max(near, dm_min(d->chunk_cols, d->cols)) : near;
}

static dm_status add_pick(dm_read_gather *g, const dm_read_request *request, int64_t top,
                          int64_t bottom) {
  if (g->count == g->room) {
    const int64_t room = dm_max(FIRST_ROOM, 2 * g->room);
    void *memory = realloc(g->picks, (size_t)room * sizeof *g->picks);
    if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of parts");
    g->picks = memory;
    g->room = room;
  }
  /* Of a single row the step means nothing. */
  g->picks[g->count++] = (dm_pick){*request, top, bottom, top < bottom ? request->rows.step : 1};
  return DM_OK;
}

/* Rows of an irregular list that happen to be a run of a few distant ones are picked one by one:
 * others lie between them. */
dm_status dm_gather_add(dm_read_gather *g, const dm_reader *reader,
                        const dm_read_request *request) {
  const dm_dataset *d = &reader->dataset;
  const int64_t first = dm_line_at(request->rows, request->part.row), rows = request->part.rows;
  const int64_t close = DM_READ_BETWEEN / dm_dtype_size(d->dtype) / dm_max(1, d->cols);
  const int64_t step = request->rows.step;
  g->used += request->count;
  if (rows > FEW_ROWS || close == 0 || step <= close || request->cols.step > gather_near(reader))
    return add_pick(g, request, first, first + (rows - 1) * step);
  for (int64_t i = 0; i < rows; i++)
    DM_TRY(add_pick(g, request, first + i * step, first + i * step));
  return DM_OK;
}

static int in_order(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int gather_by_rows(const dm_pick *a, const dm_pick *b) {
  const int top = in_order(a->top, b->top), bottom = in_order(a->bottom, b->bottom);
  return top ? top : bottom ? bottom : in_order(a->step, b->step);
}

static int gather_by_place(const void *a, const void *b) {
  const dm_pick *x = a, *y = b;
  const int rows = gather_by_rows(x, y);
  return rows ? rows : in_order(first_col(&x->request), first_col(&y->request));
}

void dm_gather_sort(dm_read_gather *gather) {
  qsort(gather->picks, (size_t)gather->count, sizeof *gather->picks, gather_by_place);
}

/* Whether PICK is read without a call for each of its elements. */
static bool is_dense(const dm_reader *reader, const dm_pick *pick) {
  return pick->request.part.cols == 1 || pick->request.cols.step <= gather_near(reader);
}

/* What windows have: the rectangle of the dataset, and the distance of its rows. */
typedef struct io_gather_window {
  int64_t top, bottom, left, right; /* first and last */
  int64_t step;
} io_gather_window;

/* Adds the picks with the same rows as pick FIRST that are near it, and returns the next one. */
static int64_t take_beside(const dm_read_gather *g, const dm_reader *reader, int64_t first,
                           io_gather_window *w) {
  const dm_pick *pick = &g->picks[first];
  *w = (io_gather_window){pick->top, pick->bottom, first_col(&pick->request),
                          last_col(&pick->request), pick->step};
  int64_t next = first + 1;
  if (!is_dense(reader, pick)) return next;
  for (; next < g->count; next++) {
    const dm_pick *other = &g->picks[next];
    if (gather_by_rows(pick, other) != 0 || !is_dense(reader, other) ||
        first_col(&other->request) - w->right > gather_near(reader))
      break;
    w->right = dm_max(w->right, last_col(&other->request));
  }
  return next;
}

/* Joins MORE, whose rows follow, to W, if all is read with one call; false: it is not. */
static bool gather_join(const dm_reader *reader, io_gather_window *w,
                        const io_gather_window *more) {
  const int64_t row = reader->dataset.cols * dm_dtype_size(reader->dataset.dtype);
  if (reader->dataset.offset < 0 || more->top < w->bottom || row > DM_READ_BETWEEN ||
      more->top - w->bottom > DM_READ_BETWEEN / row || w->step > DM_READ_BETWEEN / row ||
      more->step > DM_READ_BETWEEN / row || more->bottom - w->top >= GATHER_WINDOW / row)
    return false;
  w->bottom = more->bottom;
  w->left = dm_min(w->left, more->left);
  w->right = dm_max(w->right, more->right);
  w->step = 1;
  return true;
}

/* The request that reads W. */
static dm_read_request gather_request_of(const io_gather_window *w, const dm_pick *picks,
                                         int64_t count) {
  const int64_t rows = (w->bottom - w->top) / w->step + 1;
  const bool steps = w->step > 1;
  return (dm_read_request){.part = {steps ? 0 : w->top, w->left, rows, w->right - w->left + 1},
                           .rows = {steps ? w->top : 0, w->step},
                           .cols = {0, 1},
                           .picks = picks,
                           .count = count,
                           .row = picks->request.row,
                           .col = picks->request.col};
}

static bool is_whole(const dm_pick *pick) {
  return (pick->bottom - pick->top) / pick->step + 1 == pick->request.part.rows;
}

bool dm_gather_next(dm_read_gather *g, const dm_reader *reader, dm_read_request *request) {
  const int64_t first = g->at;
  io_gather_window w, more;
  if (first == g->count) return false;
  const dm_pick *picks = &g->picks[first];
  int64_t end = take_beside(g, reader, first, &w);
  while (end < g->count && is_dense(reader, picks) && is_dense(reader, &g->picks[end])) {
    const int64_t next = take_beside(g, reader, end, &more);
    if (!gather_join(reader, &w, &more)) break;
    end = next;
  }
  g->at = end;
  *request = end == first + 1 && is_whole(picks) ? picks->request
                                                 : gather_request_of(&w, picks, end - first);
  return true;
}
