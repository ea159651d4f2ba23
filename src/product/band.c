#include "product/band.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

struct dm_band {
  dm_backend *backend;
  dm_view matrix; /* only its columns */
  int64_t first_col;
  int64_t height;
  void *memory;
  dm_range rows;
  dm_view host; /* the rows in host memory */
};

/* Copies whole lines, in the orientation of the matrix. */
static bool is_by_columns(dm_view view) {
  return view.col_stride != 1;
}

static dm_status take_memory(dm_band *band) {
  int64_t bytes;
  DM_TRY(dm_bytes_of(band->height, band->matrix.cols, dm_dtype_size(band->matrix.dtype), &bytes));
  return dm_backend_alloc(band->backend, DM_HOST, bytes, &band->memory);
}

dm_status dm_band_open(dm_backend *backend, dm_view matrix, dm_range cols, int64_t height,
                       dm_band **band) {
  dm_band *new;
  DM_TRY(dm_buffer_table(1, &new));
  new->backend = backend;
  new->matrix = dm_view_sub(matrix, 0, cols.begin, matrix.rows, dm_range_size(cols));
  new->first_col = cols.begin;
  new->height = dm_min(height, matrix.rows);
  dm_status status = take_memory(new);
  if (status)
    free(new);
  else
    *band = new;
  return status;
}

void dm_band_close(dm_band *band) {
  if (!band) return;
  dm_backend_release(band->backend, DM_HOST, band->memory);
  free(band);
}

static dm_status copy(dm_band *band, bool inward) {
  const int64_t rows = dm_range_size(band->rows);
  const dm_view gpu = dm_view_sub(band->matrix, band->rows.begin, 0, rows, band->matrix.cols);
  const bool turned = is_by_columns(gpu);
  const dm_view far = turned ? dm_view_transpose(gpu) : gpu;
  const dm_view near = turned ? dm_view_transpose(band->host) : band->host;
  dm_event done = 0;
  DM_TRY(dm_backend_copy(band->backend, inward ? far : near, inward ? near : far, &done));
  return dm_backend_wait(band->backend, done);
}

dm_status dm_band_turn(dm_band *band, dm_range rows, bool reads) {
  const int64_t count = dm_range_size(rows), cols = band->matrix.cols;
  const dm_dtype type = band->matrix.dtype;
  band->rows = rows;
  band->host = is_by_columns(band->matrix)
                   ? dm_view_transpose(dm_view_row_major(band->memory, type, cols, count))
                   : dm_view_row_major(band->memory, type, count, cols);
  return reads ? copy(band, false) : DM_OK;
}

dm_status dm_band_write(dm_band *band) {
  return copy(band, true);
}

dm_view dm_band_part(const dm_band *band, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  return dm_view_sub(band->host, row - band->rows.begin, col - band->first_col, rows, cols);
}
