#include "io/tile_sums.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/element_sum.h"

struct dm_tile_sums {
  const dm_tile_record *tiles;
  int64_t count, cols;
  uint64_t *sums; /* one per tile; guarded by LOCK */
  pthread_mutex_t lock;
};

dm_status dm_tile_sums_open(const dm_tile_record *tiles, int64_t count, int64_t cols,
                            dm_tile_sums **sums) {
  *sums = NULL;
  if (count == 0) return DM_OK;
  uint64_t *values;
  DM_TRY(dm_buffer_table(count, &values));
  dm_status status = dm_buffer_table(1, sums);
  if (status) {
    free(values);
    return status;
  }
  **sums = (dm_tile_sums){.tiles = tiles,
                          .count = count,
                          .cols = cols,
                          .sums = values,
                          .lock = PTHREAD_MUTEX_INITIALIZER};
  return DM_OK;
}

void dm_tile_sums_close(dm_tile_sums *sums) {
  if (!sums) return;
  pthread_mutex_destroy(&sums->lock);
  free(sums->sums);
  free(sums);
}

void dm_tile_sums_add(dm_tile_sums *s, dm_view view, int64_t row, int64_t col) {
  for (int64_t t = 0; s && t < s->count; t++) {
    const dm_tile_record *tile = &s->tiles[t];
    const int64_t top = dm_max(row, tile->row), left = dm_max(col, tile->col);
    const int64_t rows = dm_min(row + view.rows, tile->row + tile->rows) - top;
    const int64_t cols = dm_min(col + view.cols, tile->col + tile->cols) - left;
    if (rows <= 0 || cols <= 0) continue;
    const dm_view common = dm_view_sub(view, top - row, left - col, rows, cols);
    const uint64_t sum = dm_checksum_view(common, top, left, s->cols);
    pthread_mutex_lock(&s->lock);
    s->sums[t] += sum;
    pthread_mutex_unlock(&s->lock);
  }
}

/* Adds a part of one row, or whole rows. */
void dm_tile_sums_add_run(dm_tile_sums *s, const void *data, dm_dtype dtype, int64_t first,
                          int64_t count) {
  const char *at = data;
  while (s && count > 0) {
    const int64_t row = first / s->cols, col = first % s->cols;
    const bool whole = col == 0 && count >= s->cols;
    const int64_t cols = whole ? s->cols : dm_min(count, s->cols - col);
    const int64_t rows = whole ? count / s->cols : 1;
    dm_tile_sums_add(s, dm_view_row_major((void *)at, dtype, rows, cols), row, col);
    at += rows * cols * dm_dtype_size(dtype);
    first += rows * cols;
    count -= rows * cols;
  }
}

uint64_t *dm_tile_sums_values(dm_tile_sums *sums, int64_t *count) {
  *count = sums ? sums->count : 0;
  return sums ? sums->sums : NULL;
}

const dm_tile_record *dm_tile_sums_wrong(const dm_tile_sums *sums, int64_t *place) {
  for (int64_t t = 0; sums && t < sums->count; t++) {
    *place = t + 1;
    if (sums->sums[t] != sums->tiles[t].checksum) return &sums->tiles[t];
  }
  return NULL;
}

dm_status dm_tile_differs(const dm_tile_record *tile, int64_t place, const char *file) {
  return dm_fail(DM_E_IO, "tile %lld of '%s', %lld x %lld at (%lld, %lld), is not what was written",
                 (long long)place, file, (long long)tile->rows, (long long)tile->cols,
                 (long long)tile->row, (long long)tile->col);
}

dm_status dm_tile_sums_compare(const dm_tile_sums *sums, const char *file) {
  int64_t place;
  const dm_tile_record *tile = dm_tile_sums_wrong(sums, &place);
  return tile ? dm_tile_differs(tile, place, file) : DM_OK;
}
