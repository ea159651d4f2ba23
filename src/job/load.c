#include "job/load.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

enum { STRIP = 64 << 20 }; /* bytes read at a time on the way to a device */

dm_status dm_load_part(dm_source *source, int64_t row, int64_t col, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (source->op == DM_OP_N) return dm_reader_read(source->reader, row, col, &view, 1, false);
  dm_view transposed = dm_view_transpose(view);
  return dm_reader_read(source->reader, col, row, &transposed, 1, source->op == DM_OP_C);
}

static void note_largest(dm_source *source, dm_view view) {
  if (view.dtype != DM_I8) return;
  int largest = 0;
  for (int64_t i = 0; i < view.rows; i++) {
    const int8_t *row = dm_view_at(view, i, 0);
    for (int64_t j = 0; j < view.cols; j++) {
      int magnitude = row[j] < 0 ? -row[j] : row[j];
      if (magnitude > largest) largest = magnitude;
    }
  }
  if (largest > source->largest) source->largest = largest;
}

/* Rows of A lie one after the other in the file, panel beside panel: they are read in one go. */
static dm_status load_a_rows(dm_task *task, dm_source *source) {
  int64_t count = dm_range_size(task->panels);
  dm_range rows = dm_task_piece_rows(task, DM_A, task->panels.begin);
  if (count == 0 || dm_range_size(rows) == 0) return DM_OK;
  dm_view *views;
  DM_TRY(dm_buffer_zeroed(count, sizeof *views, (void **)&views));
  for (int64_t q = 0; q < count; q++) views[q] = dm_task_piece(task, DM_A, task->panels.begin + q);
  int64_t first = dm_plan_panel(task->plan, task->panels.begin).begin;
  dm_status status = dm_reader_read(source->reader, rows.begin, first, views, count, false);
  for (int64_t q = 0; q < count && !status; q++) note_largest(source, views[q]);
  free(views);
  return status;
}

dm_status dm_load_piece(dm_task *task, dm_matrix matrix, dm_source *source, int64_t panel) {
  dm_view piece = dm_task_piece(task, matrix, panel);
  DM_TRY(dm_load_part(source, dm_task_piece_rows(task, matrix, panel).begin,
                      dm_task_piece_cols(task, matrix, panel).begin, piece));
  note_largest(source, piece);
  return DM_OK;
}

/* Starts reading this rank's piece of PANEL; *reading is NULL where it has none. */
static dm_status post_host_piece(dm_task *task, dm_matrix matrix, dm_source *source, int64_t panel,
                                 dm_reading **reading) {
  dm_view piece = dm_task_piece(task, matrix, panel);
  int64_t row = dm_task_piece_rows(task, matrix, panel).begin;
  int64_t col = dm_task_piece_cols(task, matrix, panel).begin;
  *reading = NULL;
  if (dm_view_is_empty(piece)) return DM_OK;
  if (source->op == DM_OP_N)
    return dm_read_ahead_post(source->ahead, source->reader, row, col, &piece, 1, false, reading);
  piece = dm_view_transpose(piece);
  return dm_read_ahead_post(source->ahead, source->reader, col, row, &piece, 1,
                            source->op == DM_OP_C, reading);
}

/* All pieces are wanted before the first is awaited: a chunk that lies in several is unpacked once.
 */
static dm_status load_host_pieces(dm_task *task, dm_matrix matrix, dm_source *source) {
  const int64_t first = task->panels.begin, count = dm_range_size(task->panels);
  dm_reading **readings;
  DM_TRY(dm_buffer_zeroed(count, sizeof(dm_reading *), (void **)&readings));
  dm_status status = DM_OK;
  for (int64_t i = 0; i < count && !status; i++)
    status = post_host_piece(task, matrix, source, first + i, &readings[i]);
  for (int64_t i = 0; i < count && !status; i++) {
    if (readings[i]) status = dm_reading_wait(readings[i], &task->run->pulse);
    if (!status) note_largest(source, dm_task_piece(task, matrix, first + i));
  }
  free(readings);
  return status;
}

/* A piece that lies on the device: strip by strip through two pinned buffers, so that one is read
 * while the other is copied. */
static dm_status load_device_piece(dm_task *task, dm_matrix matrix, dm_source *source,
                                   int64_t panel, char *staging) {
  dm_view piece = dm_task_piece(task, matrix, panel);
  int64_t row = dm_task_piece_rows(task, matrix, panel).begin;
  int64_t col = dm_task_piece_cols(task, matrix, panel).begin;
  int64_t row_bytes = dm_max(1, piece.cols * dm_dtype_size(piece.dtype));
  int64_t rows = dm_max(1, STRIP / row_bytes);
  dm_event copied[2] = {0, 0};
  int turn = 0;
  for (int64_t at = 0; at < piece.rows; at += rows, turn = !turn) {
    DM_TRY(dm_backend_wait(task->backend, copied[turn]));
    int64_t count = dm_min(rows, piece.rows - at);
    dm_view strip = dm_view_row_major(staging + turn * dm_max(STRIP, row_bytes), piece.dtype, count,
                                      piece.cols);
    DM_TRY(dm_load_part(source, row + at, col, strip));
    note_largest(source, strip);
    DM_TRY(dm_backend_copy(task->backend, dm_view_sub(piece, at, 0, count, piece.cols), strip,
                           &copied[turn]));
    task->phases.uploaded += count * row_bytes;
  }
  DM_TRY(dm_backend_wait(task->backend, copied[0]));
  return dm_backend_wait(task->backend, copied[1]);
}

static dm_status load_device_share(dm_task *task, dm_matrix matrix, dm_source *source) {
  int64_t widest = 0;
  for (int64_t p = task->panels.begin; p < task->panels.end; p++)
    widest = dm_max(widest, dm_task_piece(task, matrix, p).cols);
  int64_t strip = dm_max(STRIP, widest * dm_dtype_size(task->plan->problem.work));
  void *staging;
  DM_TRY(dm_backend_alloc(task->backend, DM_HOST, 2 * strip, &staging));
  dm_status status = DM_OK;
  for (int64_t p = task->panels.begin; p < task->panels.end && !status; p++)
    status = load_device_piece(task, matrix, source, p, staging);
  dm_backend_release(task->backend, DM_HOST, staging);
  return status;
}

dm_status dm_load_share(dm_task *task, dm_matrix matrix, dm_source *source) {
  dm_space space = matrix == DM_A ? task->a.space : task->b.space;
  if (space == DM_DEVICE) return load_device_share(task, matrix, source);
  if (matrix == DM_A && source->op == DM_OP_N) return load_a_rows(task, source);
  if (source->ahead) return load_host_pieces(task, matrix, source);
  for (int64_t p = task->panels.begin; p < task->panels.end; p++)
    DM_TRY(dm_load_piece(task, matrix, source, p));
  return DM_OK;
}
