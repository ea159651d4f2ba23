#include "layout/relocation.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

enum { FROM, TO };

/* ---- messages ---- */

/* From where to where elements are copied: from the caller's part to a message, on, or directly. */
typedef enum relocation_way { RELOCATION_PACK, RELOCATION_UNPACK, STAY } relocation_way;

typedef struct relocation_message {
  int giver, taker;
  int64_t first, rows, cols; /* in this round; ROWS is 0: nothing */
} relocation_message;

static relocation_message relocation_message_of(const dm_relocation *m, dm_exchange_message of) {
  const int64_t pair = (int64_t)of.giver * m->run->ranks + of.taker;
  const int64_t first = of.round * m->rounds.height;
  const int64_t rows = dm_max(0, dm_min(m->rounds.height, m->down[pair] - first));
  return (relocation_message){of.giver, of.taker, first, rows, m->across[pair]};
}

static int64_t relocation_add(dm_copy_run *list, int64_t count, dm_copy_run one) {
  dm_copy_run *last = count > 0 ? &list[count - 1] : NULL;
  if (last && last->to + last->size == one.to && last->from + last->size == one.from) {
    last->size += one.size;
    return count;
  }
  list[count] = one;
  return count + 1;
}

static int64_t relocation_runs_of(dm_overlap overlap, relocation_way how, dm_copy_run *list) {
  int64_t count = 0;
  for (dm_overlap_piece p; dm_overlap_next(&overlap, &p);)
    count = relocation_add(list, count,
                           (dm_copy_run){.to = how == RELOCATION_PACK ? p.at : p.to,
                                         .from = how == RELOCATION_UNPACK ? p.at : p.from,
                                         .size = p.size});
  return count;
}

/* What the giver has and the taker wants; false: one has none. */
static bool overlaps_of(const dm_relocation *m, const relocation_message *one, dm_overlap *rows,
                        dm_overlap *cols) {
  *rows = (dm_overlap){.segments = &m->rows, .window = {one->first, one->first + one->rows}};
  *cols = (dm_overlap){.segments = &m->cols, .window = {0, one->cols}};
  return dm_distribution_parts(&m->of[FROM], one->giver, &rows->from, &cols->from) &&
         dm_distribution_parts(&m->of[TO], one->taker, &rows->to, &cols->to);
}

static dm_view local(const dm_relocation *m, const dm_distributed *end) {
  return m->by_columns ? dm_view_transpose(end->local) : end->local;
}

/* Copies ONE, a dense matrix at MEMORY of the workspace, or without it. */
static dm_status relocation_copy(const dm_relocation *m, const relocation_message *one,
                                 relocation_way how, void *memory, dm_event *copied) {
  dm_overlap rows, cols;
  if (one->rows == 0 || !overlaps_of(m, one, &rows, &cols)) return DM_OK;
  const dm_view dense =
      dm_view_strided(memory, m->from->local.dtype, DM_DEVICE, one->rows, one->cols, one->cols);
  const dm_copy_runs of = {.rows = m->row_list,
                           .row_count = relocation_runs_of(rows, how, m->row_list),
                           .cols = m->col_list,
                           .col_count = relocation_runs_of(cols, how, m->col_list)};
  const dm_view to = how == RELOCATION_PACK ? dense : local(m, m->to);
  const dm_view from = how == RELOCATION_UNPACK ? dense : local(m, m->from);
  dm_backend *backend = m->space->backend;
  if ((to.space == DM_HOST && m->to->pageable) || (from.space == DM_HOST && m->from->pageable))
    return dm_staging_copy_runs(&m->space->staging, backend, to, from, &of, copied);
  return dm_backend_copy_runs(backend, to, from, &of, copied);
}

static int64_t relocation_bytes_of(const void *context, dm_exchange_message message) {
  const dm_relocation *m = context;
  const relocation_message one = relocation_message_of(m, message);
  return one.rows * one.cols * dm_dtype_size(m->from->local.dtype);
}

static dm_status copy_message(const void *context, dm_exchange_message message, void *memory,
                              dm_event *done) {
  const dm_relocation *m = context;
  const relocation_message one = relocation_message_of(m, message);
  return relocation_copy(m, &one, one.giver == m->run->rank ? RELOCATION_PACK : RELOCATION_UNPACK,
                         memory, done);
}

static dm_status keep_own(const void *context, dm_event *done) {
  const dm_relocation *m = context;
  const int me = m->run->rank;
  const int64_t pair = (int64_t)me * (m->run->ranks + 1);
  const relocation_message all = {me, me, 0, m->down[pair], m->across[pair]};
  return relocation_copy(m, &all, STAY, NULL, done);
}

dm_status dm_relocation_run(dm_relocation *m, dm_workspace *space, int64_t at) {
  static const dm_exchange_ops ops = {
      .bytes = relocation_bytes_of, .copy = copy_message, .keep = keep_own};
  m->space = space;
  return dm_exchange_run(&ops, m, m->run, space, at, &m->rounds);
}

/* ---- opening ---- */

/* What all pairs of ranks exchange; *widest: columns of a message. */
static int64_t relocation_measure(dm_relocation *m, int64_t *widest) {
  const int ranks = m->run->ranks;
  int64_t most = 0;
  *widest = 1;
  for (int g = 0; g < ranks; g++)
    for (int t = 0; t < ranks; t++) {
      dm_overlap rows, cols;
      const relocation_message one = {g, t, 0, INT64_MAX, INT64_MAX};
      if (!overlaps_of(m, &one, &rows, &cols)) continue;
      const int64_t down = dm_overlap_size(rows), across = dm_overlap_size(cols);
      if (down == 0 || across == 0) continue;
      m->down[(int64_t)g * ranks + t] = down;
      m->across[(int64_t)g * ranks + t] = across;
      if (g == t) continue;
      most = dm_max(most, down);
      *widest = dm_max(*widest, across);
    }
  return most;
}

static dm_status lay_rounds(dm_relocation *m, int64_t per_round) {
  int64_t widest, line;
  const int64_t most = relocation_measure(m, &widest);
  DM_TRY(dm_bytes_of(1, widest, dm_dtype_size(m->from->local.dtype), &line));
  return dm_message_rounds_of(most, line, per_round, m->run->ranks, &m->rounds);
}

dm_status dm_relocation_open(const dm_run *run, const dm_distributed *from,
                             const dm_distributed *to, bool by_columns, int64_t per_round,
                             dm_relocation *m) {
  const int64_t pairs = (int64_t)run->ranks * run->ranks;
  *m = (dm_relocation){
      .run = run, .from = from, .to = to, .by_columns = by_columns, .of = {from->of, to->of}};
  for (int end = 0; end < 2 && by_columns; end++) dm_distribution_transpose(&m->of[end]);
  DM_TRY(dm_axis_cut(&m->of[FROM].rows, &m->of[TO].rows, &m->rows));
  DM_TRY(dm_axis_cut(&m->of[FROM].cols, &m->of[TO].cols, &m->cols));
  DM_TRY(dm_buffer_table(pairs, &m->down));
  DM_TRY(dm_buffer_table(pairs, &m->across));
  DM_TRY(dm_buffer_table(dm_max(1, m->rows.count), &m->row_list));
  DM_TRY(dm_buffer_table(dm_max(1, m->cols.count), &m->col_list));
  return lay_rounds(m, per_round);
}

void dm_relocation_close(dm_relocation *m) {
  dm_segments_free(&m->rows);
  dm_segments_free(&m->cols);
  free(m->down);
  free(m->across);
  free(m->row_list);
  free(m->col_list);
  *m = (dm_relocation){0};
}
