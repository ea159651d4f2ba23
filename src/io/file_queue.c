#include "io/file_queue.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/chunk_cache.h"
#include "io/gather.h"

enum { WRITTEN_PIECE = 1 << 20 }; /* bytes that a thread writes at once */

static const double file_queue_patience = 0.25; /* seconds between two checks */

/* A rectangle of the dataset that one thread moves. */
typedef struct file_queue_piece {
  dm_pool_task task; /* first */
  dm_transfer *transfer;
  dm_rectangle part;
} file_queue_piece;

struct dm_file_queue {
  dm_pool *pool;
  dm_arrivals arrivals;
  dm_transfer *first;
  dm_chunk_cache **cache; /* one for each reader with chunks */
  int caches;
};

dm_status dm_file_queue_open(int threads, int64_t memory, dm_file_queue **queue) {
  DM_TRY(dm_buffer_table(1, queue));
  (*queue)->arrivals.limit = memory;
  /* Many bytes may be kept, but tasks need less. */
  const int64_t running = memory > 0 ? dm_min(memory, DM_READ_MEMORY) : memory;
  dm_status status = dm_pool_open(threads, running, &(*queue)->pool);
  if (status) {
    free(*queue);
    *queue = NULL;
    return status;
  }
  /* So several threads unpack chunks larger than that. */
  dm_pool_lend((*queue)->pool, memory, &(*queue)->arrivals.kept);
  return DM_OK;
}

static void forget(dm_transfer *transfer) {
  *(transfer->previous ? &transfer->previous->next : &transfer->queue->first) = transfer->next;
  if (transfer->next) transfer->next->previous = transfer->previous;
  free(transfer->piece);
  free(transfer->page);
  free(transfer->views);
  while (transfer->gathers) {
    dm_read_gather *one = transfer->gathers;
    transfer->gathers = one->next;
    dm_gather_free(one);
  }
  free(transfer);
}

void dm_file_queue_close(dm_file_queue *queue) {
  if (!queue) return;
  dm_pool_close(queue->pool);
  while (queue->first) forget(queue->first);
  for (int i = 0; i < queue->caches; i++) dm_chunk_cache_close(queue->cache[i]);
  free(queue->cache);
  free(queue);
}

void dm_file_queue_cancel(dm_file_queue *queue) {
  dm_pool_cancel(queue->pool);
}

/* ---- pieces ---- */

static dm_status write_piece(const dm_transfer *t, dm_rectangle part) {
  const int64_t first = part.row - t->request.part.row;
  const dm_view view = dm_view_sub(t->views[0], first, 0, part.rows, part.cols);
  if (t->prepare.rows) DM_TRY(t->prepare.rows(t->prepare.context, first, part.rows));
  return dm_output_write(t->output, part.row, part.col, view);
}

static dm_status run_piece(dm_pool_task *task, dm_scratch *scratch) {
  const file_queue_piece *piece = (file_queue_piece *)task;
  dm_transfer *transfer = piece->transfer;
  dm_file_queue *queue = transfer->queue;
  const dm_rectangle part = piece->part;
  if (transfer->output)
    DM_TRY(write_piece(transfer, part));
  else
    DM_TRY(dm_reader_bring(transfer->reader, &transfer->request, part, scratch, NULL));
  dm_pool_lock(queue->pool);
  queue->arrivals.moved += part.rows * part.cols * transfer->element;
  dm_transfer_arrived(transfer);
  dm_pool_unlock(queue->pool);
  return DM_OK;
}

/* Advances *PIECE, initially all zero, to the next piece; false: there is none. */
static bool next_piece(const dm_transfer *t, dm_rectangle *piece) {
  if (t->reader) return dm_reader_next_piece(t->reader, &t->request, piece);
  const dm_rectangle *all = &t->request.part;
  const int64_t height = dm_max(1, WRITTEN_PIECE / (all->cols * t->element));
  const int64_t row = piece->rows > 0 ? piece->row + piece->rows : all->row;
  *piece = (dm_rectangle){row, all->col, dm_min(height, all->row + all->rows - row), all->cols};
  return piece->rows > 0;
}

static dm_status post_pieces(dm_transfer *transfer) {
  int64_t count = 0;
  dm_rectangle part = {0};
  while (next_piece(transfer, &part)) count++;
  if (count == 0) return DM_OK;
  DM_TRY(dm_buffer_table(count, &transfer->piece));
  dm_pool_lock(transfer->queue->pool);
  dm_transfer_expect(transfer, count);
  dm_pool_unlock(transfer->queue->pool);
  part = (dm_rectangle){0};
  for (int64_t i = 0; i < count; i++) {
    next_piece(transfer, &part);
    DM_TRY(dm_transfer_make_pages(transfer, transfer->queue->pool,
                                  part.row + part.rows - transfer->request.part.row));
    const int64_t scratch =
        transfer->reader ? dm_reader_piece_bytes(transfer->reader, &transfer->request, &part) : 0;
    transfer->piece[i] = (file_queue_piece){
        .task = {.run = run_piece, .bytes = scratch}, .transfer = transfer, .part = part};
    dm_pool_post(transfer->queue->pool, &transfer->piece[i].task);
  }
  return DM_OK;
}

static dm_status post_chunks(dm_transfer *transfer) {
  dm_file_queue *queue = transfer->queue;
  dm_reader *reader = transfer->reader;
  if (!reader->cache) {
    void *memory = realloc(queue->cache, (size_t)(queue->caches + 1) * sizeof *queue->cache);
    if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of chunks");
    queue->cache = memory;
    DM_TRY(dm_chunk_cache_open(queue->pool, &queue->arrivals, reader, &reader->cache));
    queue->cache[queue->caches++] = reader->cache;
  }
  return dm_chunk_cache_post(reader->cache, transfer);
}

static dm_status file_queue_start(dm_file_queue *queue, const dm_transfer *what,
                                  dm_transfer **transfer);

/* The requests that PATCH of READER's dataset takes: of a line without chunks one for each row or
 * column that it is folded into. */
static int64_t requests_of(const dm_reader *reader, const dm_patch *patch) {
  if (!patch->folded || reader->chunks) return 1;
  return patch->row_step < patch->col_step ? patch->cols : patch->rows;
}

/* Makes *part what request NUMBER of PATCH takes. */
static void part_of_patch(const dm_reader *reader, const dm_patch *patch, int64_t number,
                          dm_patch *part) {
  *part = *patch;
  if (!patch->folded || reader->chunks) return;
  if (patch->row_step < patch->col_step)
    *part = dm_patch_at(patch, patch->row, patch->col + number, patch->rows, 1);
  else
    *part = dm_patch_at(patch, patch->row + number, patch->col, 1, patch->cols);
}

/* Fills REQUEST, to READER of the source of WHICH, for the part of TRANSFER that request NUMBER of
 * it takes. VIEWS has room for those of TRANSFER. */
static dm_status request_of_patch(const dm_transfer *transfer, const dm_reader *reader,
                                  const dm_patch *which, int64_t number, dm_view *views,
                                  dm_read_request *request) {
  dm_patch part;
  const dm_patch *patch = &part;
  part_of_patch(reader, which, number, &part);
  const dm_read_request *whole = &transfer->request;
  const dm_rectangle piece = {patch->row, patch->col, patch->rows, patch->cols};
  int64_t before = 0, row, col, count = 0;
  for (int64_t i = 0; i < whole->count; i++)
    count += dm_request_common(whole, i, &piece, &before, &views[count], &row, &col);
  if (patch->folded)
    return dm_request_of_fold(reader, patch, views, count, whole->conjugate, request);
  const dm_line rows = {patch->source_row, patch->row_step};
  const dm_line cols = {patch->source_col, patch->col_step};
  DM_TRY(dm_request_of(reader, rows, cols, views, count, whole->conjugate, request));
  request->row = patch->row;
  request->col = patch->col;
  return DM_OK;
}

/* Posts REQUEST to READER, of one of its sources, as a part of TRANSFER. */
static dm_status post_part(dm_transfer *transfer, dm_reader *reader,
                           const dm_read_request *request) {
  const dm_transfer what = {.reader = reader,
                            .element = dm_dtype_size(reader->dataset.dtype),
                            .request = *request,
                            .parent = transfer,
                            .sibling = transfer->parts};
  return file_queue_start(transfer->queue, &what, &transfer->parts);
}

/* Patches FIRST to LAST of one source that have parts of a transfer: how many requests they take,
 * and the views that these have at most. */
typedef struct patches {
  int64_t source, first, last, count, views;
} patches;

/* Those from number FIRST on, which has SOURCE, that of READER. */
static patches patches_from(const dm_transfer *transfer, const dm_reader *reader, int64_t first,
                            int64_t source) {
  const dm_read_request *request = &transfer->request;
  patches all = {.source = source, .first = first, .last = first};
  dm_patch patch;
  for (int64_t i = first; dm_sources_next(transfer->reader, &request->part, &i, &patch); i++) {
    if (patch.source != source) break;
    all.last = i;
    const int64_t count = requests_of(reader, &patch);
    all.count += count;
    all.views += count * dm_min(request->count, patch.cols);
  }
  return all;
}

static dm_status post_each(dm_transfer *transfer, const patches *all, dm_reader *reader,
                           dm_view *views) {
  dm_read_request request;
  dm_patch patch;
  for (int64_t i = all->first; i <= all->last; i++) {
    dm_sources_next(transfer->reader, &transfer->request.part, &i, &patch);
    DM_TRY(request_of_patch(transfer, reader, &patch, 0, views, &request));
    DM_TRY(post_part(transfer, reader, &request));
  }
  return DM_OK;
}

/* The same for patches that may be close to each other in a file without chunks. */
static dm_status post_together(dm_transfer *transfer, const patches *all, dm_reader *reader) {
  dm_read_gather *gather;
  dm_read_request request;
  dm_patch patch;
  DM_TRY(dm_gather_new(all->views, &gather));
  gather->next = transfer->gathers;
  transfer->gathers = gather;
  for (int64_t i = all->first; i <= all->last; i++) {
    dm_sources_next(transfer->reader, &transfer->request.part, &i, &patch);
    for (int64_t n = 0; n < requests_of(reader, &patch); n++) {
      DM_TRY(request_of_patch(transfer, reader, &patch, n, dm_gather_views(gather), &request));
      DM_TRY(dm_gather_add(gather, reader, &request));
    }
  }
  dm_gather_sort(gather);
  while (dm_gather_next(gather, reader, &request)) DM_TRY(post_part(transfer, reader, &request));
  return DM_OK;
}

/* Posts a read of a dataset made of others. */
static dm_status post_parts(dm_transfer *transfer) {
  const dm_read_request *request = &transfer->request;
  DM_FREED dm_view *views = NULL;
  dm_patch patch;
  dm_reader *reader;
  dm_sources_fill(transfer->reader, request);
  DM_TRY(dm_buffer_table(request->count, &views));
  for (int64_t i = 0; dm_sources_next(transfer->reader, &request->part, &i, &patch); i++) {
    DM_TRY(dm_sources_reader(transfer->reader, patch.source, &reader));
    const patches all = patches_from(transfer, reader, i, patch.source);
    const bool apart = all.count == 1 || reader->chunks || reader->empty;
    DM_TRY(apart ? post_each(transfer, &all, reader, views)
                 : post_together(transfer, &all, reader));
    i = all.last;
  }
  return DM_OK;
}

static dm_status file_queue_post(dm_transfer *transfer) {
  const dm_rectangle *part = &transfer->request.part;
  const dm_reader *reader = transfer->reader;
  if (part->rows == 0 || part->cols == 0) return DM_OK;
  if (reader && reader->sources) return post_parts(transfer);
  const bool chunks = reader && reader->chunks;
  const bool here = chunks && !transfer->parent && dm_pool_threads(transfer->queue->pool) == 0;
  if (reader && !reader->raw && !here) {
    transfer->by_hdf5 = true;
    if (transfer->parent) {
      transfer->by_hdf5_next = transfer->parent->by_hdf5_next;
      transfer->parent->by_hdf5_next = transfer;
    }
    dm_pool_lock(transfer->queue->pool);
    dm_transfer_expect(transfer, 1);
    dm_pool_unlock(transfer->queue->pool);
    return DM_OK;
  }
  return chunks ? post_chunks(transfer) : post_pieces(transfer);
}

/* Posts a copy of WHAT with its own views; if that fails half-way, closing the queue frees it. */
static dm_status file_queue_start(dm_file_queue *queue, const dm_transfer *what,
                                  dm_transfer **transfer) {
  dm_transfer *new;
  dm_view *views;
  const dm_read_request *request = &what->request;
  DM_TRY(dm_buffer_table(1, &new));
  const int64_t count = request->picks ? 0 : request->count; /* a gather keeps those of picks */
  dm_status status = dm_buffer_table(count, &views);
  if (status) {
    free(new);
    return status;
  }
  if (count > 0) memcpy(views, request->views, (size_t)count * sizeof(dm_view));
  *transfer = new;
  *new = *what;
  new->request.views = new->views = views;
  new->queue = queue;
  new->next = queue->first;
  if (queue->first) queue->first->previous = new;
  queue->first = new;
  return file_queue_post(new);
}

static dm_status start_request(dm_file_queue *queue, dm_reader *reader,
                               const dm_read_request *request, dm_transfer **transfer) {
  const dm_transfer what = {
      .reader = reader, .element = dm_dtype_size(reader->dataset.dtype), .request = *request};
  return file_queue_start(queue, &what, transfer);
}

dm_status dm_file_queue_read(dm_file_queue *queue, dm_reader *reader, int64_t row, int64_t col,
                             const dm_view *views, int64_t count, bool conjugate,
                             dm_transfer **transfer) {
  dm_read_request request;
  DM_TRY(dm_request_of(reader, (dm_line){row, 1}, (dm_line){col, 1}, views, count, conjugate,
                       &request));
  return start_request(queue, reader, &request, transfer);
}

dm_status dm_file_queue_write(dm_file_queue *queue, dm_output *output, int64_t row, int64_t col,
                              dm_view view, dm_prepare prepare, dm_transfer **transfer) {
  const dm_transfer what = {
      .output = output,
      .prepare = prepare,
      .element = dm_dtype_size(view.dtype),
      .request = {.part = {row, col, view.rows, view.cols}, .views = &view, .count = 1}};
  return file_queue_start(queue, &what, transfer);
}

/* ---- waiting ---- */

static dm_status read_here(dm_reader *reader, const dm_read_request *request);

static dm_status read_by_hdf5(dm_transfer *transfer) {
  dm_reader *reader = transfer->reader;
  int64_t before = reader->bytes;
  DM_TRY(dm_reader_wake(reader));
  DM_TRY(read_here(reader, &transfer->request));
  dm_pool_lock(transfer->queue->pool);
  transfer->queue->arrivals.moved += reader->bytes - before;
  reader->bytes = before; /* counted when the transfer is done */
  dm_transfer_arrived(transfer);
  dm_pool_unlock(transfer->queue->pool);
  return DM_OK;
}

/* Reads *NUMBER, which threads change. */
static int64_t read_number(dm_file_queue *queue, const int64_t *number) {
  dm_pool_lock(queue->pool);
  const int64_t value = *number;
  dm_pool_unlock(queue->pool);
  return value;
}

/* Reads TRANSFER, or one of its parts, by HDF5 if that is its way. */
static dm_status serve_by_hdf5(dm_transfer *transfer) {
  if (transfer->by_hdf5 && transfer->left > 0) return read_by_hdf5(transfer);
  dm_transfer *part = transfer->by_hdf5_next;
  if (!part) return DM_OK;
  transfer->by_hdf5_next = part->by_hdf5_next;
  return read_by_hdf5(part);
}

dm_status dm_transfer_test(dm_transfer *transfer, bool *done) {
  dm_file_queue *queue = transfer->queue;
  *done = false;
  DM_TRY(serve_by_hdf5(transfer));
  if (read_number(queue, &transfer->left) > 0) dm_pool_help(queue->pool);
  DM_TRY(dm_pool_error(queue->pool));
  *done = read_number(queue, &transfer->left) == 0;
  if (!*done) return DM_OK;
  const dm_rectangle *part = &transfer->request.part;
  if (transfer->reader) DM_TRY(dm_reader_all_there(transfer->reader));
  for (const dm_transfer *one = transfer->parts; one; one = one->sibling)
    DM_TRY(dm_reader_all_there(one->reader));
  if (transfer->reader) transfer->reader->bytes += part->rows * part->cols * transfer->element;
  while (transfer->parts) {
    dm_transfer *one = transfer->parts;
    transfer->parts = one->sibling;
    forget(one);
  }
  forget(transfer);
  return DM_OK;
}

dm_status dm_transfer_wait(dm_transfer *transfer, const dm_keepalive *keepalive) {
  dm_file_queue *queue = transfer->queue;
  int64_t moved = dm_file_queue_moved(queue);
  for (bool done = false;;) {
    DM_TRY(dm_transfer_test(transfer, &done));
    int64_t now = dm_file_queue_moved(queue);
    if (now != moved) DM_TRY(dm_keepalive_beat(keepalive));
    moved = now;
    if (done) return DM_OK;
    dm_pool_lock(queue->pool);
    if (transfer->left > 0 && !transfer->by_hdf5_next)
      dm_pool_wait(queue->pool, file_queue_patience);
    dm_pool_unlock(queue->pool);
  }
}

int64_t dm_file_queue_moved(dm_file_queue *queue) {
  return read_number(queue, &queue->arrivals.moved);
}

int64_t dm_file_queue_unpacked(dm_file_queue *queue) {
  return read_number(queue, &queue->arrivals.unpacked);
}

/* ---- reading without other threads, or waiting for them (read.h) ---- */

/* Bytes of unpacked chunks kept if there are no threads. */
enum { OWN_MEMORY = 1 << 27 };

void dm_reader_close(dm_reader *reader) {
  if (reader) dm_file_queue_close(reader->own);
  dm_reader_release(reader);
}

void dm_reader_share_threads(dm_reader *reader, dm_file_queue *ahead) {
  dm_file_queue_close(reader->own);
  reader->own = NULL;
  reader->ahead = ahead;
}

static dm_status read_by(dm_file_queue *queue, dm_reader *reader, const dm_read_request *r) {
  dm_transfer *transfer;
  dm_status status = start_request(queue, reader, r, &transfer);
  if (!status) status = dm_transfer_wait(transfer, reader->keepalive);
  if (status) dm_file_queue_cancel(queue); /* the caller may free the memory */
  return status;
}

static dm_status read_here(dm_reader *reader, const dm_read_request *request) {
  if (reader->chunks || reader->sources) {
    if (!reader->own) DM_TRY(dm_file_queue_open(0, OWN_MEMORY, &reader->own));
    return read_by(reader->own, reader, request);
  }
  for (dm_rectangle piece = {0}; dm_reader_next_piece(reader, request, &piece);) {
    DM_TRY(dm_reader_bring(reader, request, piece, &reader->scratch, reader->keepalive));
    DM_TRY(dm_keepalive_beat(reader->keepalive));
  }
  reader->bytes += request->part.rows * request->part.cols * dm_dtype_size(reader->dataset.dtype);
  return dm_reader_all_there(reader);
}

dm_status dm_reader_read_lines(dm_reader *reader, dm_line down, dm_line right, dm_view view) {
  dm_read_request request;
  DM_TRY(dm_request_of(reader, down, right, &view, 1, false, &request));
  return read_here(reader, &request);
}

dm_status dm_reader_read(dm_reader *reader, int64_t row, int64_t col, const dm_view *views,
                         int64_t count, bool conjugate) {
  dm_read_request request;
  DM_TRY(dm_request_of(reader, (dm_line){row, 1}, (dm_line){col, 1}, views, count, conjugate,
                       &request));
  return reader->ahead ? read_by(reader->ahead, reader, &request) : read_here(reader, &request);
}

dm_status dm_read_memory(const dm_dataset *set, dm_view from, dm_dtype as, dm_view to,
                         bool conjugate) {
  dm_dataset part = {.at = set->at,
                     .rows = from.rows,
                     .cols = from.cols,
                     .dtype = from.dtype,
                     .meaning = set->meaning};
  dm_reader *reader;
  dm_dataset_set_memory(&part, from);
  DM_TRY(dm_reader_open(&part, as, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &to, 1, conjugate);
  dm_reader_close(reader);
  return status;
}
