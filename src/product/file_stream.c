#include "product/file_stream.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/file_queue.h"
#include "plan/buffers.h"
#include "plan/partition.h"

enum { STRIP = 64 << 20 }; /* bytes of a matrix in memory at a time */

dm_status dm_file_stream(dm_run *run, int threads, const dm_dataset *dataset, dm_range rows,
                         dm_range cols, const dm_reading *how, dm_part_taker *take, void *context,
                         dm_missing_found *missing) {
  if (dm_dataset_is_empty(dataset)) return DM_OK; /* it adds nothing to any sum */
  int64_t row_bytes, bytes;
  const int64_t width = dm_range_size(cols);
  DM_TRY(dm_bytes_of(width, 1, dm_dtype_size(how->work), &row_bytes));
  int64_t height = dm_min(dm_max(1, STRIP / row_bytes), dm_max(1, dm_range_size(rows)));
  DM_TRY(dm_bytes_of(height, 1, row_bytes, &bytes));
  void *strip;
  dm_file_queue *ahead = NULL;
  dm_reader *reader;
  DM_TRY(dm_reader_open(dataset, how->as, &reader));
  dm_reader_keepalive(reader, &run->keepalive);
  dm_run_phase(run, "reading", 1);
  strip = NULL;
  const int64_t chunk = dataset->chunk_rows * dataset->chunk_cols * dm_dtype_size(dataset->dtype);
  const int64_t of_file = dataset->rows * dataset->cols * dm_dtype_size(dataset->dtype);
  const int64_t kept = dm_max(DM_READ_MEMORY, dm_chunks_kept(chunk, of_file));
  dm_status status = dm_file_queue_open(dm_run_io_threads(run, threads), kept, &ahead);
  if (!status) dm_reader_lean_on(reader, ahead);
  if (!status) status = dm_buffer_alloc(bytes, &strip);
  for (int64_t row = rows.begin; row < rows.end && !status; row += height) {
    int64_t count = dm_min(height, rows.end - row);
    bool turned = how->op != DM_OP_N;
    dm_view part = turned ? dm_view_row_major(strip, how->work, width, count)
                          : dm_view_row_major(strip, how->work, count, width);
    dm_view target = turned ? dm_view_transpose(part) : part;
    status = dm_reader_read(reader, row, cols.begin, &target, 1, how->op == DM_OP_C);
    if (!status) status = take(context, part, turned ? 0 : row, turned ? row : 0);
  }
  dm_file_queue_close(ahead);
  free(strip);
  if (missing) dm_reader_missing(reader, missing);
  dm_reader_close(reader);
  return status;
}
