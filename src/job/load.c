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

void dm_source_note(dm_source *source, dm_view view) {
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
    dm_source_note(source, strip);
    DM_TRY(dm_backend_copy(task->backend, dm_view_sub(piece, at, 0, count, piece.cols), strip,
                           &copied[turn]));
    task->phases.uploaded += count * row_bytes;
  }
  DM_TRY(dm_backend_wait(task->backend, copied[0]));
  return dm_backend_wait(task->backend, copied[1]);
}

dm_status dm_load_device_share(dm_task *task, dm_matrix matrix, dm_source *source) {
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
