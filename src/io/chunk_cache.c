#include "io/chunk_cache.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

enum { CHUNK_CACHE_FIRST_PLACES = 64, FIRST_WANTING = 2, NOTED_AT_ONCE = 1 << 12 };

/* A chunk that a transfer needs or needed. Its place in the file stays known. */
typedef struct dm_chunk {
  dm_pool_task task; /* first */
  dm_chunk_cache *cache;
  int64_t number;
  dm_chunk_place place;
  bool posted;
  void *data;            /* unpacked, or NULL */
  int64_t not_copied;    /* elements not copied to any transfer yet */
  dm_transfer **wanting; /* waiting transfers: SERVED to COUNT */
  int64_t served, count, room;
  struct dm_chunk *older, *newer; /* list of chunks kept */
} chunk;

struct dm_chunk_cache {
  dm_pool *pool;
  dm_arrivals *arrivals;
  dm_reader *reader;
  chunk **table; /* hash table by number, open addressing; PLACES is a power of two */
  int64_t places, filled;
};

dm_status dm_chunk_cache_open(dm_pool *pool, dm_arrivals *arrivals, dm_reader *reader,
                              dm_chunk_cache **cache) {
  chunk **table;
  DM_TRY(dm_buffer_table(CHUNK_CACHE_FIRST_PLACES, &table));
  dm_status status = dm_buffer_table(1, cache);
  if (status) {
    free(table);
    return status;
  }
  **cache = (dm_chunk_cache){.pool = pool,
                             .arrivals = arrivals,
                             .reader = reader,
                             .table = table,
                             .places = CHUNK_CACHE_FIRST_PLACES};
  return DM_OK;
}

void dm_chunk_cache_close(dm_chunk_cache *cache) {
  if (!cache) return;
  cache->reader->cache = NULL;
  for (int64_t i = 0; i < cache->places; i++) {
    if (!cache->table[i]) continue;
    free(cache->table[i]->data);
    free(cache->table[i]->wanting);
    free(cache->table[i]);
  }
  free(cache->table);
  free(cache);
}

/* The slot of NUMBER, or the free slot for it. */
static chunk **chunk_cache_slot_of(chunk **table, int64_t places, int64_t number) {
  uint64_t at = (uint64_t)number * 0x9e3779b97f4a7c15u >> 20;
  while (table[at & (uint64_t)(places - 1)] && table[at & (uint64_t)(places - 1)]->number != number)
    at++;
  return &table[at & (uint64_t)(places - 1)];
}

static dm_status chunk_cache_grow(dm_chunk_cache *cache) {
  chunk **larger;
  if (cache->filled < cache->places / 2) return DM_OK;
  DM_TRY(dm_buffer_table(2 * cache->places, &larger));
  for (int64_t i = 0; i < cache->places; i++)
    if (cache->table[i])
      *chunk_cache_slot_of(larger, 2 * cache->places, cache->table[i]->number) = cache->table[i];
  free(cache->table);
  cache->table = larger;
  cache->places *= 2;
  return DM_OK;
}

static void unlink_cached(dm_arrivals *all, chunk *c) {
  *(c->older ? &c->older->newer : &all->oldest) = c->newer;
  *(c->newer ? &c->newer->older : &all->newest) = c->older;
  c->older = c->newer = NULL;
}

/* Keeps C, whose data has just been copied; drops other chunks if there is no room. */
static void chunk_cache_keep(dm_arrivals *all, chunk *c) {
  c->older = all->newest;
  *(c->older ? &c->older->newer : &all->oldest) = c;
  all->newest = c;
  while (all->oldest && all->kept > all->limit) {
    chunk *oldest = all->oldest;
    unlink_cached(all, oldest);
    all->kept -= dm_reader_chunk_room(oldest->cache->reader);
    free(oldest->data);
    oldest->data = NULL;
  }
}

/* Returns the memory to the thread for its next chunk. */
static void chunk_cache_give_back(dm_chunk_cache *cache, chunk *c, dm_scratch *scratch) {
  int64_t room = dm_reader_chunk_room(cache->reader);
  cache->arrivals->kept -= room;
  free(scratch->memory[0]);
  scratch->memory[0] = c->data;
  scratch->bytes[0] = room;
  c->data = NULL;
}

/* Copies to all transfers that need the chunk, including those that arrive meanwhile. The lock is
 * held before and after. */
static void chunk_cache_serve(dm_chunk_cache *cache, chunk *c) {
  while (c->served < c->count) {
    dm_transfer *transfer = c->wanting[c->served++];
    dm_pool_unlock(cache->pool);
    const int64_t copied =
        dm_reader_spread_chunk(cache->reader, &transfer->request, c->number, c->data);
    dm_pool_lock(cache->pool);
    c->not_copied -= copied;
    cache->arrivals->moved += copied * dm_dtype_size(cache->reader->dataset.dtype);
    dm_transfer_arrived(transfer);
  }
  c->served = c->count = 0;
}

static dm_status chunk_cache_run(dm_pool_task *task, dm_scratch *scratch) {
  chunk *c = (chunk *)task;
  dm_chunk_cache *cache = c->cache;
  const bool packed = !c->data; /* no other thread uses a posted chunk */
  if (packed) {
    DM_TRY(dm_reader_unpack(cache->reader, &c->place, scratch));
    c->data = scratch->memory[0];
    scratch->memory[0] = NULL;
    scratch->bytes[0] = 0;
  }
  dm_pool_lock(cache->pool);
  if (packed) {
    cache->arrivals->unpacked++;
    cache->arrivals->kept += dm_reader_chunk_room(cache->reader);
    if (c->not_copied <= 0)
      c->not_copied = dm_reader_chunk_elements(cache->reader, c->number); /* all are needed again */
  }
  chunk_cache_serve(cache, c);
  c->posted = false;
  if (c->not_copied > 0)
    chunk_cache_keep(cache->arrivals, c);
  else
    chunk_cache_give_back(cache, c, scratch);
  dm_pool_unlock(cache->pool);
  return DM_OK;
}

/* Finds the place of chunk NUMBER in the file, unless it is known. */
static dm_status chunk_cache_note(dm_chunk_cache *cache, int64_t number) {
  dm_chunk_place place;
  chunk *c;
  if (*chunk_cache_slot_of(cache->table, cache->places, number)) return DM_OK;
  DM_TRY(dm_reader_find_chunk(cache->reader, number, &place));
  DM_TRY(chunk_cache_grow(cache));
  DM_TRY(dm_buffer_table(1, &c));
  *c = (chunk){.task = {.run = chunk_cache_run, .bytes = 2 * dm_reader_chunk_room(cache->reader)},
               .cache = cache,
               .number = number,
               .place = place,
               .not_copied = dm_reader_chunk_elements(cache->reader, number)};
  *chunk_cache_slot_of(cache->table, cache->places, number) = c;
  cache->filled++;
  return DM_OK;
}

/* Finds chunk NUMBER; creates it if it is new. One of many sources is closed soon: then all its
 * places are found, if they are not too many. */
static dm_status chunk_cache_find(dm_chunk_cache *cache, int64_t number, chunk **found) {
  *found = *chunk_cache_slot_of(cache->table, cache->places, number);
  if (*found) return DM_OK;
  DM_TRY(dm_reader_wake(cache->reader));
  const int64_t all = cache->reader->owner ? dm_dataset_chunks(&cache->reader->dataset) : 0;
  for (int64_t i = 0; i < all && all <= NOTED_AT_ONCE; i++) DM_TRY(chunk_cache_note(cache, i));
  DM_TRY(chunk_cache_note(cache, number));
  *found = *chunk_cache_slot_of(cache->table, cache->places, number);
  return DM_OK;
}

static dm_status add_wanting(chunk *c, dm_transfer *transfer) {
  if (c->count == c->room) {
    int64_t room = dm_max(FIRST_WANTING, 2 * c->room);
    void *memory = realloc(c->wanting, (size_t)room * sizeof *c->wanting);
    if (!memory) return dm_fail(DM_E_FIT, "no memory for a list of transfers");
    c->wanting = memory;
    c->room = room;
  }
  c->wanting[c->count++] = transfer;
  return DM_OK;
}

static dm_status want(dm_chunk_cache *cache, int64_t number, dm_transfer *transfer) {
  chunk *c;
  DM_TRY(chunk_cache_find(cache, number, &c));
  dm_pool_lock(cache->pool);
  dm_status status = add_wanting(c, transfer);
  bool post = !status && !c->posted;
  if (post) {
    c->posted = true;
    if (c->data) unlink_cached(cache->arrivals, c);
  }
  dm_pool_unlock(cache->pool);
  if (post) dm_pool_post(cache->pool, &c->task);
  return status;
}

/* About how many rows of REQUEST are in chunk (i, j) of OF and those before it. */
static int64_t rows_before(const dm_read_request *request, const dm_rectangle *of, int64_t i,
                           int64_t j) {
  const int64_t done = request->folded ? j - of->col : i - of->row;
  return request->part.rows * (done + 1) / (request->folded ? of->cols : of->rows);
}

dm_status dm_chunk_cache_post(dm_chunk_cache *cache, dm_transfer *transfer) {
  const dm_reader *reader = cache->reader;
  const dm_read_request *request = &transfer->request;
  const dm_rectangle of = dm_reader_chunks_of(reader, request);
  int64_t rows = 0, cols = 0;
  for (int64_t i = 0; i < of.rows; i++) rows += dm_reader_chunk_has(reader, request, 0, of.row + i);
  for (int64_t j = 0; j < of.cols; j++) cols += dm_reader_chunk_has(reader, request, 1, of.col + j);
  dm_pool_lock(cache->pool);
  dm_transfer_expect(transfer, rows * cols);
  dm_pool_unlock(cache->pool);
  for (int64_t i = of.row; i < of.row + of.rows; i++) {
    if (!dm_reader_chunk_has(reader, request, 0, i)) continue;
    DM_TRY(dm_transfer_make_pages(transfer, cache->pool, rows_before(request, &of, i, of.col)));
    for (int64_t j = of.col; j < of.col + of.cols; j++) {
      if (!dm_reader_chunk_has(reader, request, 1, j)) continue;
      if (request->folded)
        DM_TRY(dm_transfer_make_pages(transfer, cache->pool, rows_before(request, &of, i, j)));
      DM_TRY(want(cache, dm_reader_chunk_number(reader, i, j), transfer));
    }
  }
  return DM_OK;
}
