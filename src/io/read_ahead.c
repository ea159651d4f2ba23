#include "io/read_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/chunk_cache.h"

static const double patience = 0.25; /* seconds between two looks */

/* A rectangle of contiguous data that one thread reads at a time. */
typedef struct dm_piece {
  dm_pool_task task; /* first */
  dm_reading *reading;
  dm_rectangle part;
} dm_piece;

struct dm_read_ahead {
  dm_pool *pool;
  dm_arrivals arrivals;
  dm_reading *first;
  dm_chunk_cache **cache; /* of each reader with chunks */
  int shelves;
};

dm_status dm_read_ahead_open(int threads, int64_t memory, dm_read_ahead **ahead) {
  void *new;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_read_ahead), &new));
  *ahead = new;
  (*ahead)->arrivals.limit = memory;
  dm_status status = dm_pool_open(threads, memory, &(*ahead)->pool);
  if (status) {
    free(new);
    *ahead = NULL;
  }
  return status;
}

static void forget(dm_reading *reading) {
  *(reading->previous ? &reading->previous->next : &reading->ahead->first) = reading->next;
  if (reading->next) reading->next->previous = reading->previous;
  free(reading->piece);
  free(reading->views);
  free(reading);
}

void dm_read_ahead_close(dm_read_ahead *ahead) {
  if (!ahead) return;
  dm_pool_close(ahead->pool);
  while (ahead->first) forget(ahead->first);
  for (int i = 0; i < ahead->shelves; i++) dm_chunk_cache_close(ahead->cache[i]);
  free(ahead->cache);
  free(ahead);
}

void dm_read_ahead_cancel(dm_read_ahead *ahead) {
  dm_pool_cancel(ahead->pool);
}

static dm_status run_piece(dm_pool_task *task, dm_scratch *scratch) {
  dm_piece *piece = (dm_piece *)task;
  dm_reading *reading = piece->reading;
  dm_read_ahead *ahead = reading->ahead;
  const dm_reader *reader = reading->reader;
  DM_TRY(dm_reader_bring(reader, &reading->request, piece->part, scratch, NULL));
  dm_pool_lock(ahead->pool);
  ahead->arrivals.moved +=
      piece->part.rows * piece->part.cols * dm_dtype_size(reader->dataset.dtype);
  reading->left--; /* may be gone from now on */
  dm_pool_unlock(ahead->pool);
  return DM_OK;
}

static dm_status post_pieces(dm_reading *reading) {
  const dm_reader *reader = reading->reader;
  int64_t size = dm_dtype_size(reader->dataset.dtype), count = 0;
  dm_rectangle part = {0};
  void *memory;
  while (dm_reader_next_piece(reader, &reading->request, &part)) count++;
  if (count == 0) return DM_OK;
  DM_TRY(dm_buffer_zeroed(count, sizeof(dm_piece), &memory));
  reading->piece = memory;
  reading->left = count;
  part = (dm_rectangle){0};
  for (int64_t i = 0; i < count; i++) {
    dm_reader_next_piece(reader, &reading->request, &part);
    reading->piece[i] =
        (dm_piece){.task = {.run = run_piece, .bytes = part.rows * part.cols * size},
                   .reading = reading,
                   .part = part};
    dm_pool_post(reading->ahead->pool, &reading->piece[i].task);
  }
  return DM_OK;
}

static dm_status post_chunks(dm_reading *reading) {
  dm_read_ahead *ahead = reading->ahead;
  dm_reader *reader = reading->reader;
  if (!reader->cache) {
    void *memory = realloc(ahead->cache, (size_t)(ahead->shelves + 1) * sizeof *ahead->cache);
    if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of chunks");
    ahead->cache = memory;
    DM_TRY(dm_chunk_cache_open(ahead->pool, &ahead->arrivals, reader, &reader->cache));
    ahead->cache[ahead->shelves++] = reader->cache;
  }
  return dm_chunk_cache_post(reader->cache, reading);
}

static dm_status post(dm_reading *reading) {
  const dm_rectangle *part = &reading->request.part;
  if (part->rows == 0 || part->cols == 0) return DM_OK;
  if (reading->reader->chunks && reading->reader->fd >= 0) return post_chunks(reading);
  if (reading->reader->fd >= 0) return post_pieces(reading);
  reading->by_hdf5 = true;
  reading->left = 1;
  return DM_OK;
}

dm_status dm_read_ahead_post(dm_read_ahead *ahead, dm_reader *reader, int64_t row, int64_t col,
                             const dm_view *views, int64_t count, bool conjugate,
                             dm_reading **reading) {
  dm_request request;
  void *memory, *copy;
  DM_TRY(dm_request_of(reader, row, col, views, count, conjugate, &request));
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_reading), &memory));
  dm_status status = dm_buffer_zeroed(count, sizeof *views, &copy);
  if (status) {
    free(memory);
    return status;
  }
  if (count > 0) memcpy(copy, views, (size_t)count * sizeof *views);
  request.views = copy;
  dm_reading *new = *reading = memory;
  *new = (dm_reading){
      .ahead = ahead, .next = ahead->first, .reader = reader, .request = request, .views = copy};
  if (ahead->first) ahead->first->previous = new;
  ahead->first = new;
  return post(new); /* where that failed half-way, closing frees it */
}

static dm_status read_by_hdf5(dm_reading *reading) {
  dm_reader *reader = reading->reader;
  int64_t before = reader->bytes;
  DM_TRY(dm_reader_read_here(reader, &reading->request));
  reading->ahead->arrivals.moved += reader->bytes - before;
  reader->bytes = before; /* counted when it is done */
  reading->left = 0;
  return DM_OK;
}

static int64_t left_of(dm_reading *reading) {
  dm_pool_lock(reading->ahead->pool);
  int64_t left = reading->left;
  dm_pool_unlock(reading->ahead->pool);
  return left;
}

dm_status dm_reading_test(dm_reading *reading, bool *done) {
  *done = false;
  if (reading->by_hdf5 && reading->left > 0) DM_TRY(read_by_hdf5(reading));
  if (left_of(reading) > 0) dm_pool_help(reading->ahead->pool);
  DM_TRY(dm_pool_error(reading->ahead->pool));
  *done = left_of(reading) == 0;
  if (!*done) return DM_OK;
  const dm_rectangle *part = &reading->request.part;
  reading->reader->bytes += part->rows * part->cols * dm_dtype_size(reading->reader->dataset.dtype);
  forget(reading);
  return DM_OK;
}

dm_status dm_reading_wait(dm_reading *reading, const dm_keepalive *keepalive) {
  dm_read_ahead *ahead = reading->ahead;
  int64_t moved = dm_read_ahead_moved(ahead);
  for (bool done = false;;) {
    DM_TRY(dm_reading_test(reading, &done));
    int64_t now = dm_read_ahead_moved(ahead);
    if (now != moved) DM_TRY(dm_keepalive_beat(keepalive));
    moved = now;
    if (done) return DM_OK;
    dm_pool_lock(ahead->pool);
    if (reading->left > 0) dm_pool_wait(ahead->pool, patience);
    dm_pool_unlock(ahead->pool);
  }
}

int64_t dm_read_ahead_moved(dm_read_ahead *ahead) {
  dm_pool_lock(ahead->pool);
  int64_t moved = ahead->arrivals.moved;
  dm_pool_unlock(ahead->pool);
  return moved;
}

int64_t dm_read_ahead_unpacked(dm_read_ahead *ahead) {
  dm_pool_lock(ahead->pool);
  int64_t unpacked = ahead->arrivals.unpacked;
  dm_pool_unlock(ahead->pool);
  return unpacked;
}
