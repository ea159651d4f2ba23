#include "engine/memory_source.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum { MOST_I8 = 128 };

static dm_status open_events(void *state, dm_rank_state *local) {
  dm_memory_source *source = state;
  const int64_t panels = dm_max(1, dm_range_size(local->panels));
  source->copied[DM_A] = source->copied[DM_B] = NULL;
  DM_TRY(dm_buffer_zeroed(panels, sizeof(dm_event), (void **)&source->copied[DM_A]));
  return dm_buffer_zeroed(panels, sizeof(dm_event), (void **)&source->copied[DM_B]);
}

static void close_events(void *state) {
  dm_memory_source *source = state;
  free(source->copied[DM_A]);
  free(source->copied[DM_B]);
  source->copied[DM_A] = source->copied[DM_B] = NULL;
}

static dm_event *event_of(dm_memory_source *source, const dm_rank_state *local, dm_matrix matrix,
                          int64_t panel) {
  return &source->copied[matrix][panel - local->panels.begin];
}

/* Contiguous columns in GPU memory are transposed on their way; what is conjugated has them. */
static dm_status load_piece(const dm_memory_source *source, dm_rank_state *local, dm_matrix matrix,
                            dm_view piece, dm_view from, dm_event *copied) {
  const bool conjugate = source->conjugate[matrix] && from.space == DM_DEVICE;
  if (from.col_stride == 1 && !conjugate)
    return dm_backend_copy(local->backend, piece, from, copied);
  return dm_backend_transpose(local->backend, piece, dm_view_transpose(from), conjugate, copied);
}

static dm_status memory_source_load(void *state, dm_rank_state *local, dm_matrix matrix,
                                    int64_t panel) {
  dm_memory_source *source = state;
  const dm_view from = source->piece(source->context, local, matrix, panel);
  const dm_view piece = dm_rank_piece(local, matrix, panel);
  dm_event *copied = event_of(source, local, matrix, panel);
  *copied = 0;
  if (from.base == piece.base || dm_view_is_empty(piece)) return DM_OK;
  if (from.space == DM_HOST && piece.space == DM_HOST) {
    dm_copy(piece, from, false);
    return DM_OK;
  }
  if (from.space == DM_HOST)
    local->phases.uploaded += piece.rows * piece.cols * dm_dtype_size(piece.dtype);
  return load_piece(source, local, matrix, piece, from, copied);
}

static dm_status memory_source_loaded(void *state, dm_rank_state *local, dm_matrix matrix,
                                      int64_t panel, bool *done) {
  const dm_event copied = *event_of(state, local, matrix, panel);
  *done = true;
  return copied ? dm_backend_test(local->backend, copied, done) : DM_OK;
}

/* The elements are unknown: assumes the largest magnitude. */
static double memory_source_largest(const void *state, dm_matrix matrix) {
  (void)state;
  (void)matrix;
  return MOST_I8;
}

static dm_buffer_kind memory_source_kind_of(dm_matrix matrix) {
  return matrix == DM_A ? DM_BUFFER_HOME_A : DM_BUFFER_HOME_B;
}

dm_status dm_memory_pieces_take(dm_rank_state *local, dm_matrix matrix) {
  void *memory;
  if (local->coords.idle || !dm_plan_brings(local->plan, matrix)) return DM_OK;
  return dm_rank_memory_take(&local->memory, memory_source_kind_of(matrix), &memory);
}

dm_view dm_memory_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_view piece = dm_rank_piece(local, matrix, panel);
  if (!local->memory.at[memory_source_kind_of(matrix)]) return piece;
  const int64_t place = dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels),
                                         local->tile, panel - local->panels.begin);
  return dm_view_row_major(
      dm_rank_memory_slot(&local->memory, memory_source_kind_of(matrix), place), piece.dtype,
      piece.rows, piece.cols);
}

const dm_source_ops dm_source_memory = {.open = open_events,
                                        .close = close_events,
                                        .load = memory_source_load,
                                        .loaded = memory_source_loaded,
                                        .largest = memory_source_largest};

/* The copy under way of the rows from ROW of TILE, else a free one; -1: all are in use. */
static int find_copy(const dm_memory_sink *sink, int64_t tile, int64_t row) {
  int free = -1;
  for (int i = 0; i < DM_MEMORY_SINK_COPIES; i++) {
    if (!sink->copies[i].is_posted)
      free = i;
    else if (sink->copies[i].tile == tile && sink->copies[i].row == row)
      return i;
  }
  return free;
}

static dm_status memory_source_post(dm_memory_sink *sink, dm_rank_state *local, dm_range rows,
                                    int i) {
  dm_range of_c;
  const dm_view sums = dm_rank_result(local, &of_c), part = sink->part(sink->context, local);
  const int64_t count = dm_range_size(rows);
  sink->copies[i].tile = local->tile;
  sink->copies[i].row = rows.begin;
  sink->copies[i].copied = 0;
  sink->copies[i].is_posted = true;
  const dm_view to = dm_view_sub(part, rows.begin, 0, count, part.cols);
  if (dm_view_is_empty(to)) return DM_OK;
  return dm_backend_copy(local->backend, to, dm_view_sub(sums, rows.begin, 0, count, sums.cols),
                         &sink->copies[i].copied);
}

static dm_status memory_source_store(void *state, dm_rank_state *local, dm_range rows, bool *done) {
  dm_memory_sink *sink = state;
  const int i = find_copy(sink, local->tile, rows.begin);
  *done = false;
  if (i < 0) return DM_OK;
  if (!sink->copies[i].is_posted) DM_TRY(memory_source_post(sink, local, rows, i));
  *done = true;
  if (sink->copies[i].copied) DM_TRY(dm_backend_test(local->backend, sink->copies[i].copied, done));
  sink->copies[i].is_posted = !*done;
  return DM_OK;
}

const dm_sink_ops dm_sink_memory = {.store = memory_source_store};
