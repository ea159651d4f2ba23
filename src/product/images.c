#include "product/images.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "core/checked.h"
#include "plan/partition.h"

enum { TURNS = 2, ALIGNED = 256 };

/* Of the messages to all ranks, or from all, in a round. */
static const int64_t round_bytes = 64 << 20;

static dm_range common(dm_range a, dm_range b) {
  const int64_t begin = dm_max(a.begin, b.begin);
  return (dm_range){begin, dm_max(begin, dm_min(a.end, b.end))};
}

static int64_t middle_of(dm_range range) {
  return range.begin + dm_range_size(range) / 2;
}

/* What rank I multiplies of its rows and the columns that are the rows of another rank J: the first
 * rows below the diagonal, the last columns above it. */
static dm_extent half_of(const dm_images *m, int i, int j) {
  dm_extent part = {m->rows[i], m->rows[j]};
  if (part.cols.begin < part.rows.begin)
    part.rows.end = middle_of(part.rows);
  else
    part.cols.begin = middle_of(part.cols);
  return part;
}

/* ---- products ---- */

typedef struct posting {
  dm_backend *backend;
  const dm_whole_product *all;
  dm_extent of; /* that ALL covers */
  dm_event *done;
} posting;

static dm_status post(const posting *p, dm_extent part, bool symmetric) {
  dm_whole_product one = *p->all;
  const dm_range rows = common(p->of.rows, part.rows), cols = common(p->of.cols, part.cols);
  const int64_t down = dm_range_size(rows), across = dm_range_size(cols);
  const int64_t row = rows.begin - p->of.rows.begin, col = cols.begin - p->of.cols.begin;
  if (down == 0 || across == 0) return DM_OK;
  one.a = dm_view_sub(one.a, row, 0, down, one.a.cols);
  one.b = dm_view_sub(one.b, 0, col, one.b.rows, across);
  one.c = dm_view_sub(one.c, row, col, down, across);
  one.symmetric = symmetric;
  return dm_backend_multiply(p->backend, &one, NULL, p->done);
}

/* Columns of the rank's own square: the square on the diagonal that they have, and what is below
 * it. */
static dm_status post_own(const posting *p, dm_range rows) {
  const dm_range cols = common(p->of.cols, rows);
  const dm_range below = {cols.end, rows.end};
  const bool whole = p->of.rows.begin <= cols.begin && p->of.rows.end >= cols.end;
  if (!whole) return post(p, (dm_extent){{cols.begin, rows.end}, cols}, false);
  DM_TRY(post(p, (dm_extent){cols, cols}, true));
  return post(p, (dm_extent){below, cols}, false);
}

dm_status dm_images_multiply(const dm_images *m, dm_backend *backend, int rank,
                             const dm_whole_product *all, int64_t row, dm_range cols,
                             dm_event *done) {
  const posting p = {backend, all, {{row, row + all->c.rows}, cols}, done};
  for (int r = 0; r < m->ranks; r++)
    DM_TRY(r == rank ? post_own(&p, m->rows[r]) : post(&p, half_of(m, rank, r), false));
  return DM_OK;
}

/* ---- the exchange ---- */

typedef struct exchange {
  const dm_images *images;
  const dm_run *run;
  dm_workspace *space;
  dm_view c;
  int64_t first; /* row of C */
  dm_event taken[TURNS];
} exchange;

/* The part of C that GIVER has and TAKER receives the image of, in ROUND. */
static dm_extent part_of(const exchange *x, int giver, int taker, int64_t round) {
  dm_extent part = half_of(x->images, giver, taker);
  if (giver == taker) return (dm_extent){{0, 0}, {0, 0}};
  const int64_t begin = part.cols.begin + round * x->images->height;
  part.cols = common(part.cols, (dm_range){begin, begin + x->images->height});
  return part;
}

static int64_t bytes_of(const exchange *x, dm_extent part) {
  return dm_range_size(part.rows) * dm_range_size(part.cols) * dm_dtype_size(x->c.dtype);
}

/* Offset in the workspace of the message to (OUT) or from RANK, of a round. */
static int64_t place_of(const exchange *x, int64_t round, bool out, int rank) {
  const int64_t area = round % TURNS * 2 + out;
  return (area * x->images->ranks + rank) * x->images->slot_bytes;
}

/* The image of PART as a message. */
static dm_view dense(const exchange *x, int64_t place, dm_extent part) {
  const int64_t rows = dm_range_size(part.cols), cols = dm_range_size(part.rows);
  return dm_view_strided((char *)x->space->memory + place, x->c.dtype, DM_DEVICE, rows, cols, cols);
}

static int64_t before(const void *context, int64_t round) {
  (void)context;
  return round - TURNS;
}

static dm_status is_taken(const void *context, int64_t round, bool *done) {
  const exchange *x = context;
  return dm_backend_test(x->space->backend, x->taken[round % TURNS], done);
}

static dm_status give(void *context, int64_t round, dm_event *copied) {
  const exchange *x = context;
  for (int r = 0; r < x->images->ranks; r++) {
    const dm_extent part = part_of(x, x->run->rank, r, round);
    if (bytes_of(x, part) == 0) continue;
    const dm_view from = dm_view_sub(x->c, part.rows.begin - x->first, part.cols.begin,
                                     dm_range_size(part.rows), dm_range_size(part.cols));
    DM_TRY(dm_backend_transpose(x->space->backend, dense(x, place_of(x, round, true, r), part),
                                from, false, copied));
  }
  return DM_OK;
}

static dm_status take(void *context, int64_t round, bool *taken, bool *moved) {
  exchange *x = context;
  dm_event *last = &x->taken[round % TURNS];
  *last = 0;
  for (int r = 0; r < x->images->ranks; r++) {
    const dm_extent part = part_of(x, r, x->run->rank, round);
    if (bytes_of(x, part) == 0) continue;
    const dm_view image = dense(x, place_of(x, round, false, r), part);
    DM_TRY(dm_backend_copy(
        x->space->backend,
        dm_view_sub(x->c, part.cols.begin - x->first, part.rows.begin, image.rows, image.cols),
        image, last));
  }
  *taken = *moved = true;
  return DM_OK;
}

static void lay_out(const void *context, int64_t round, const dm_flow_lists *lists,
                    dm_gather *gather) {
  const exchange *x = context;
  const int me = x->run->rank;
  gather->own = gather->slot = (char *)x->space->memory + place_of(x, round, false, 0);
  for (int r = 0; r < x->images->ranks; r++) {
    lists->offset[r] = r * x->images->slot_bytes;
    lists->bytes[r] = bytes_of(x, part_of(x, r, me, round));
    lists->source[r] = place_of(x, round, true, me);
    lists->sent[r] = place_of(x, round, true, r);
    lists->sent_bytes[r] = bytes_of(x, part_of(x, me, r, round));
  }
}

/* The rank's own square. */
static dm_status mirror(const exchange *x, dm_event *done) {
  const int64_t size = x->c.rows;
  *done = 0;
  if (size == 0) return DM_OK;
  return dm_backend_mirror(x->space->backend, dm_view_sub(x->c, 0, x->first, size, size), 0, false,
                           done);
}

dm_status dm_images_complete(const dm_images *m, const dm_run *run, dm_workspace *space,
                             dm_view c) {
  static const dm_flow_ops ops = {
      .before = before, .done = is_taken, .give = give, .lay_out = lay_out, .take = take};
  exchange x = {.images = m, .run = run, .space = space, .c = c, .first = m->rows[run->rank].begin};
  dm_flow flow;
  dm_event mirrored;
  dm_flow_start(&flow, &ops, &x, run, space, m->rounds, TURNS);
  dm_flow_endure(&flow, mirror(&x, &mirrored));
  dm_flow_take(&flow, m->rounds);
  const dm_event posted[] = {mirrored, x.taken[0], x.taken[1]};
  for (int i = 0; i < 3; i++) dm_flow_endure(&flow, dm_backend_wait(space->backend, posted[i]));
  return dm_flow_end(&flow);
}

/* ---- opening ---- */

dm_status dm_images_open(dm_range *rows, int ranks, int64_t size, dm_images *m, int64_t *bytes) {
  *m = (dm_images){.rows = rows, .ranks = ranks};
  int64_t tallest = 0, widest = 1;
  for (int g = 0; g < ranks; g++)
    for (int t = 0; t < ranks; t++) {
      const dm_extent part = half_of(m, g, t);
      if (g == t) continue;
      tallest = dm_max(tallest, dm_range_size(part.cols));
      widest = dm_max(widest, dm_range_size(part.rows));
    }
  m->height = dm_max(1, dm_min(tallest, round_bytes / ranks / (widest * size)));
  m->rounds = dm_ceil_div(tallest, m->height);
  m->slot_bytes = dm_round_up(m->height * widest * size, ALIGNED);
  return dm_bytes_of(2 * TURNS, ranks, m->slot_bytes, bytes);
}

void dm_images_close(dm_images *images) {
  free(images->rows);
  *images = (dm_images){.rows = NULL};
}
