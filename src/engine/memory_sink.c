#include "engine/memory_sink.h"

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

static dm_status post(dm_memory_sink *sink, dm_rank_state *local, dm_range rows, int i) {
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

static dm_status store(void *state, dm_rank_state *local, dm_range rows, bool *done) {
  dm_memory_sink *sink = state;
  const int i = find_copy(sink, local->tile, rows.begin);
  *done = false;
  if (i < 0) return DM_OK;
  if (!sink->copies[i].is_posted) DM_TRY(post(sink, local, rows, i));
  *done = true;
  if (sink->copies[i].copied) DM_TRY(dm_backend_test(local->backend, sink->copies[i].copied, done));
  sink->copies[i].is_posted = !*done;
  return DM_OK;
}

const dm_sink_ops dm_sink_memory = {.name = "memory", .store = store};
