#include "layout/mirror_rows.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "backend/whole_product.h"
#include "core/checked.h"
#include "plan/partition.h"

static int64_t middle_of(dm_range range) {
  return range.begin + dm_range_size(range) / 2;
}

/* What rank I multiplies of its rows and the columns that are the rows of another rank J: the first
 * rows below the diagonal, the last columns above it. */
static dm_extent half_of(const dm_mirror_rows *m, int i, int j) {
  dm_extent part = {m->rows[i], m->rows[j]};
  if (part.cols.begin < part.rows.begin)
    part.rows.end = middle_of(part.rows);
  else
    part.cols.begin = middle_of(part.cols);
  return part;
}

bool dm_mirror_rows_need(const dm_mirror_rows *m, int rank, dm_range cols) {
  bool needed = false;
  for (int r = 0; r < m->ranks; r++) {
    const dm_extent part = half_of(m, rank, r);
    needed |= r != rank && dm_range_size(part.rows) > 0 &&
              dm_range_size(dm_range_common(part.cols, cols)) > 0;
  }
  return needed;
}

/* ---- products ---- */

typedef struct posting {
  dm_backend *backend;
  const dm_whole_product *all;
  dm_extent of; /* that ALL covers */
  dm_event *done;
} posting;

static dm_status mirror_rows_post(const posting *p, dm_extent part) {
  const dm_range rows = dm_range_common(p->of.rows, part.rows),
                 cols = dm_range_common(p->of.cols, part.cols);
  const int64_t down = dm_range_size(rows), across = dm_range_size(cols);
  const int64_t row = rows.begin - p->of.rows.begin, col = cols.begin - p->of.cols.begin;
  if (down == 0 || across == 0) return DM_OK;
  dm_whole_product one = dm_whole_part(p->all, row, down, col, across);
  one.a = dm_view_sub(one.a, row, 0, down, one.a.cols);
  one.b = dm_view_sub(one.b, 0, col, one.b.rows, across);
  return dm_backend_multiply(p->backend, &one, NULL, p->done);
}

dm_status dm_mirror_rows_multiply(const dm_mirror_rows *m, dm_backend *backend, int rank,
                                  const dm_whole_product *all, int64_t row, dm_range cols,
                                  dm_event *done) {
  const posting p = {backend, all, {{row, row + all->c.rows}, cols}, done};
  for (int r = 0; r < m->ranks; r++)
    if (r != rank) DM_TRY(mirror_rows_post(&p, half_of(m, rank, r)));
  return DM_OK;
}

/* ---- the exchange ---- */

typedef struct completing {
  const dm_mirror_rows *mirrored;
  const dm_run *run;
  dm_backend *backend;
  dm_view c;
  int64_t first; /* row of C */
  dm_event square;
} completing;

/* The part of C that the giver has and the taker receives the image of. */
static dm_extent mirror_rows_part_of(const completing *x, dm_exchange_message one) {
  dm_extent part = half_of(x->mirrored, one.giver, one.taker);
  const int64_t height = x->mirrored->rounds.height, begin = part.cols.begin + one.round * height;
  part.cols = dm_range_common(part.cols, (dm_range){begin, begin + height});
  return part;
}

static int64_t mirror_rows_bytes_of(const void *context, dm_exchange_message message) {
  const completing *x = context;
  const dm_extent part = mirror_rows_part_of(x, message);
  return dm_range_size(part.rows) * dm_range_size(part.cols) * dm_dtype_size(x->c.dtype);
}

/* Messages are images, dense. */
static dm_status mirror_rows_copy(const void *context, dm_exchange_message message, void *memory,
                                  dm_event *done) {
  const completing *x = context;
  const dm_extent part = mirror_rows_part_of(x, message);
  const int64_t rows = dm_range_size(part.cols), cols = dm_range_size(part.rows);
  const dm_view image = dm_view_strided(memory, x->c.dtype, DM_DEVICE, rows, cols, cols);
  if (message.giver == x->run->rank)
    return dm_backend_transpose(
        x->backend, image,
        dm_view_sub(x->c, part.rows.begin - x->first, part.cols.begin, cols, rows),
        x->mirrored->conjugate, done);
  return dm_backend_copy(x->backend,
                         dm_view_sub(x->c, part.cols.begin - x->first, part.rows.begin, rows, cols),
                         image, done);
}

static dm_status keep_square(const void *context, dm_event *done) {
  *done = ((const completing *)context)->square;
  return DM_OK;
}

dm_status dm_mirror_rows_complete(const dm_mirror_rows *m, const dm_run *run, dm_workspace *space,
                                  dm_view c, dm_event square) {
  static const dm_exchange_ops ops = {
      .bytes = mirror_rows_bytes_of, .copy = mirror_rows_copy, .keep = keep_square};
  const completing x = {m, run, space->backend, c, m->rows[run->rank].begin, square};
  return dm_exchange_run(&ops, &x, run, space, 0, &m->rounds);
}

/* ---- opening ---- */

dm_status dm_mirror_rows_open(dm_range *rows, int ranks, int64_t size, bool hermitian,
                              dm_mirror_rows *m, int64_t *bytes) {
  *m = (dm_mirror_rows){.rows = rows, .ranks = ranks, .conjugate = hermitian};
  int64_t tallest = 0, widest = 1;
  for (int g = 0; g < ranks; g++)
    for (int t = 0; t < ranks; t++) {
      const dm_extent part = half_of(m, g, t);
      if (g == t) continue;
      tallest = dm_max(tallest, dm_range_size(part.cols));
      widest = dm_max(widest, dm_range_size(part.rows));
    }
  DM_TRY(dm_message_rounds_of(tallest, widest * size, 0, ranks, &m->rounds));
  *bytes = m->rounds.bytes;
  return DM_OK;
}

void dm_mirror_rows_close(dm_mirror_rows *mirrored) {
  free(mirrored->rows);
  *mirrored = (dm_mirror_rows){.rows = NULL};
}
