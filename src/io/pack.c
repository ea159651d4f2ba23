#include "io/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/chunk_filter.h"
#include "dataset/hdf5_use.h"
#include "io/batch.h"
#include "io/output_impl.h"
#include "io/pool.h"
#include "io/read_impl.h"
#include "io/zarr_chunks.h"

dm_status dm_pack_room(const dm_output_file *file, const dm_output_form *form) {
  int64_t bytes;
  DM_TRY(dm_output_form_bytes(form, file->dtype, file->rows, file->cols, &bytes));
  dm_status status = dm_output_room(&file->at, bytes);
  return status ? dm_context(status, "the file with chunks, beside the one without") : DM_OK;
}

/* ---- chunks ---- */

/* Moves the chunks of C from the contiguous file to the chunked one, and reads them back for
 * comparison. */
typedef struct pack_task {
  const dm_output_file *from;
  dm_output_file *to;
  const dm_output_form *form;
  const dm_keepalive *keepalive;
  dm_tile_sums *tiles; /* checksums of what is read of FROM, or NULL */
  dm_pool *pool;
  hid_t set;         /* destination of the chunks */
  dm_reader *reader; /* reads the chunks back; NULL: they are written */
  dm_chunk_filter filter;
  int64_t entry_rows;                  /* rows of C in an entry of the batch */
  int64_t down, across, chunks, bytes; /* numbers of chunks of an entry, of all; bytes of one */
  uint64_t *sums;                      /* checksum of each chunk */
} pack_task;

/* Bytes of all chunks under way, unless a single chunk is larger. */
enum { PACK_LIMIT = 1 << 28 };

static const double pack_patience = 0.25; /* seconds between two checks */

/* Bytes of memory for a packed chunk. */
static int64_t pack_room(const pack_task *p) {
  return dm_max(dm_chunk_filter_room(&p->filter, p->bytes), dm_codec_frame_room(p->bytes));
}

/* One chunk under way. */
typedef struct pack_slot {
  dm_pool_task task; /* first */
  pack_task *packing;
  int64_t number;
  dm_chunk_place place;
  void *packed;
  int64_t stored;
  uint32_t skipped;
  bool done; /* guarded by the pool's lock */
} pack_slot;

static dm_status open_pool(pack_task *p, int threads) {
  const dm_output_form *form = p->form;
  int64_t size = dm_dtype_size(p->from->dtype);
  p->entry_rows = p->from->rows / dm_leads_entries(&form->leads);
  p->down = dm_ceil_div(p->entry_rows, form->chunk_rows);
  p->across = dm_ceil_div(p->from->cols, form->chunk_cols);
  p->bytes = form->chunk_rows * form->chunk_cols * size;
  if (form->shuffle) {
    p->filter.shuffled_size[p->filter.count] = size;
    p->filter.step[p->filter.count++] = DM_STEP_SHUFFLE;
  }
  if (form->deflate > 0) p->filter.step[p->filter.count++] = DM_STEP_DEFLATE;
  if (form->zstd > 0) p->filter.step[p->filter.count++] = DM_STEP_CODEC;
  p->chunks = dm_leads_entries(&form->leads) * p->down * p->across;
  DM_TRY(dm_buffer_table(p->chunks, &p->sums));
  return dm_pool_open(threads, PACK_LIMIT, &p->pool);
}

/* Rows of a chunk inside of its entry. */
static int64_t pack_rows_of(const pack_task *p, const dm_chunk_place *place) {
  return dm_min(p->form->chunk_rows, p->entry_rows - place->row % p->entry_rows);
}

/* Reads a chunk's part of the matrix from the contiguous file; the rest of DATA is zero. */
static dm_status read_rows(const pack_task *p, const dm_chunk_place *place, char *data) {
  const dm_output_file *from = p->from;
  int64_t size = dm_dtype_size(from->dtype);
  int64_t rows = pack_rows_of(p, place);
  int64_t cols = dm_min(p->form->chunk_cols, from->cols - place->col);
  if (rows * cols * size < p->bytes) memset(data, 0, (size_t)p->bytes);
  dm_batch batch;
  dm_batch_start(&batch, p->from->made, false, from->part, NULL);
  for (int64_t i = 0; i < rows; i++)
    DM_TRY(dm_batch_add(&batch, data + i * p->form->chunk_cols * size, cols * size,
                        from->offset + ((place->row + i) * from->cols + place->col) * size));
  return dm_batch_flush(&batch);
}

/* The view of a chunk's DATA that is inside the matrix. */
static dm_view pack_elements_of(const pack_task *p, const dm_chunk_place *place, void *data) {
  return dm_view_strided(data, p->from->dtype, DM_HOST, pack_rows_of(p, place),
                         dm_min(p->form->chunk_cols, p->from->cols - place->col),
                         p->form->chunk_cols);
}

static dm_status pack_finish(pack_slot *s) {
  dm_pool_lock(s->packing->pool);
  s->done = true;
  dm_pool_unlock(s->packing->pool);
  return DM_OK;
}

/* The indices of the chunk at PLACE, in chunks if IN_CHUNKS, else in elements; their number. */
static int pack_indices(const pack_task *p, const dm_chunk_place *place, bool in_chunks,
                        hsize_t *index) {
  const dm_leads *leads = &p->form->leads;
  int64_t entry = place->row / p->entry_rows, row = place->row % p->entry_rows, col = place->col;
  if (in_chunks) row /= p->form->chunk_rows;
  if (in_chunks) col /= p->form->chunk_cols;
  const int count = dm_h5_dims(leads, 1, row, col, index);
  for (int i = leads->count - 1; i >= 0; entry /= leads->extent[i--])
    index[i] = (hsize_t)(entry % leads->extent[i]);
  return count;
}

/* Writes a chunk of Zarr, the elements DATA: zstd, then a checksum. */
static dm_status pack_frame(const pack_task *p, pack_slot *s, const void *data) {
  hsize_t place[DM_AXES];
  int64_t index[DM_AXES];
  const int count = pack_indices(p, &s->place, true, place);
  for (int i = 0; i < count; i++) index[i] = (int64_t)place[i];
  unsigned char *packed = s->packed;
  DM_TRY(dm_codec_frame(data, p->bytes, p->form->zstd, packed, pack_room(p) - 4, &s->stored));
  const uint32_t sum = dm_crc32c(packed, s->stored);
  for (int i = 0; i < 4; i++) packed[s->stored++] = (unsigned char)(sum >> 8 * i);
  return dm_store_chunk(p->to, index, count, packed, s->stored);
}

/* Task: reads a chunk's rows and packs them. */
static dm_status pack_chunk(dm_pool_task *task, dm_scratch *scratch) {
  pack_slot *s = (pack_slot *)task;
  const pack_task *p = s->packing;
  for (int i = 0; i < 2; i++)
    DM_TRY(dm_scratch_grow(scratch, i, dm_chunk_filter_room(&p->filter, p->bytes)));
  DM_TRY(read_rows(p, &s->place, scratch->memory[0]));
  dm_tile_sums_add(p->tiles, pack_elements_of(p, &s->place, scratch->memory[0]), s->place.row,
                   s->place.col);
  p->sums[s->number] = XXH3_64bits(scratch->memory[0], (size_t)p->bytes);
  if (p->to->store) {
    DM_TRY(pack_frame(p, s, scratch->memory[0]));
    return pack_finish(s);
  }
  DM_TRY(dm_chunk_filter_apply(&p->filter, (int)dm_max(p->form->deflate, p->form->zstd),
                               scratch->memory[0], p->bytes, scratch->memory[1], s->packed,
                               &s->stored, &s->skipped));
  return pack_finish(s);
}

/* Task: unpacks a chunk of the new file and compares it with what was packed. */
static dm_status compare_chunk(dm_pool_task *task, dm_scratch *scratch) {
  pack_slot *s = (pack_slot *)task;
  const pack_task *p = s->packing;
  DM_TRY(dm_reader_unpack(p->reader, &s->place, scratch));
  if (XXH3_64bits(scratch->memory[0], (size_t)p->bytes) != p->sums[s->number])
    return dm_fail_at(DM_E_IO, &p->to->at,
                      "the chunk at (%lld, %lld) of '%s' is not what was written",
                      (long long)s->place.row, (long long)s->place.col, p->to->part);
  return pack_finish(s);
}

static dm_status pack_wait_for(pack_slot *s) {
  dm_pool *pool = s->packing->pool;
  for (bool done = false; !done;) {
    dm_pool_help(pool);
    DM_TRY(dm_pool_error(pool));
    dm_pool_lock(pool);
    if (!s->done) dm_pool_wait(pool, pack_patience);
    done = s->done;
    dm_pool_unlock(pool);
  }
  return dm_keepalive_beat(s->packing->keepalive);
}

/* Announces the rows of the next chunks to the kernel. */
static void announce_rows(const pack_task *p, int64_t row) {
  int64_t row_bytes = p->from->cols * dm_dtype_size(p->from->dtype);
  (void)posix_fadvise(p->from->made, p->from->offset + row * row_bytes,
                      p->form->chunk_rows * row_bytes, POSIX_FADV_WILLNEED); /* a hint */
}

static dm_status pack_begin(pack_task *p, pack_slot *s, int64_t number) {
  s->number = number;
  s->done = false;
  const int64_t line = number / p->across;
  s->place =
      (dm_chunk_place){.row = line / p->down * p->entry_rows + line % p->down * p->form->chunk_rows,
                       .col = number % p->across * p->form->chunk_cols};
  if (p->reader) DM_TRY(dm_reader_find_chunk(p->reader, number, &s->place));
  if (!p->reader && s->place.col == 0) announce_rows(p, s->place.row);
  dm_pool_post(p->pool, &s->task);
  return DM_OK;
}

/* Only the caller's thread uses HDF5. */
static dm_status pack_end(pack_task *p, pack_slot *s) {
  DM_TRY(pack_wait_for(s));
  if (p->reader || p->to->store) return DM_OK;
  hsize_t offset[DM_AXES];
  (void)pack_indices(p, &s->place, false, offset);
  if (H5Dwrite_chunk(p->set, H5P_DEFAULT, s->skipped, offset, (size_t)s->stored, s->packed) >= 0)
    return DM_OK;
  return dm_h5_fail(DM_E_IO, &p->to->at, "the chunk at (%lld, %lld) cannot be written to '%s'",
                    (long long)s->place.row, (long long)s->place.col, p->to->part);
}

/* Processes all chunks in order, COUNT of them at a time. */
static dm_status pack_turn(pack_task *p, pack_slot *slots, int64_t count) {
  const int64_t chunks = p->chunks;
  for (int64_t number = 0; number < chunks + count; number++) {
    pack_slot *s = &slots[number % count];
    if (number >= count && number - count < chunks) DM_TRY(pack_end(p, s));
    if (number < chunks) DM_TRY(pack_begin(p, s, number));
  }
  return DM_OK;
}

static dm_status pack_run(pack_task *p, dm_status (*work)(dm_pool_task *, dm_scratch *)) {
  const int64_t room = dm_chunk_filter_room(&p->filter, p->bytes);
  const int64_t count =
      dm_max(1, dm_min(2 * dm_max(1, dm_pool_threads(p->pool)), PACK_LIMIT / room));
  pack_slot *slots;
  DM_TRY(dm_buffer_table(count, &slots));
  dm_status status = DM_OK;
  for (int64_t i = 0; i < count && !status; i++) {
    slots[i] = (pack_slot){.task = {.run = work, .bytes = 2 * room}, .packing = p};
    if (!p->reader) status = dm_buffer_alloc(pack_room(p), &slots[i].packed);
  }
  if (!status) status = pack_turn(p, slots, count);
  if (status) { /* no thread uses the slots any more */
    dm_pool_close(p->pool);
    p->pool = NULL;
  }
  for (int64_t i = 0; i < count; i++) free(slots[i].packed);
  free(slots);
  return status;
}

/* ---- the file ---- */

static dm_status write_chunks(void *context, hid_t file, hid_t set) {
  pack_task *p = context;
  (void)file;
  p->set = set;
  DM_TRY(pack_run(p, pack_chunk));
  return dm_tile_sums_compare(p->tiles, p->from->part);
}

/* Gives DATASET the shape and the chunks of PACKED. */
static void pack_lay(const dm_output_file *packed, const dm_output_form *form,
                     dm_dataset *dataset) {
  dm_axes axes = {.count = packed->leads.count + 2};
  for (int i = 0; i < packed->leads.count; i++) {
    axes.extent[i] = packed->leads.extent[i];
    axes.chunk[i] = 1;
  }
  if (packed->leads.vector != DM_NO_VECTOR) {
    axes = (dm_axes){.count = 1,
                     .extent = {packed->rows * packed->cols},
                     .chunk = {form->chunk_rows * form->chunk_cols}};
    (void)dm_dataset_lay(dataset, &axes, packed->leads.vector == DM_AS_COLUMN);
    return;
  }
  axes.extent[axes.count - 2] = packed->rows / dm_leads_entries(&packed->leads);
  axes.extent[axes.count - 1] = packed->cols;
  axes.chunk[axes.count - 2] = form->chunk_rows;
  axes.chunk[axes.count - 1] = form->chunk_cols;
  (void)dm_dataset_lay(dataset, &axes, axes.count - 1);
}

/* The dataset that an inspection of PACKED would find, before PACKED has its name. */
static dm_status pack_dataset_of(const pack_task *p, dm_dataset *dataset) {
  const dm_output_file *packed = p->to;
  const dm_output_form *form = p->form;
  *dataset = (dm_dataset){.at = packed->at,
                          .rows = packed->rows,
                          .cols = packed->cols,
                          .dtype = packed->dtype,
                          .layout = DM_CHUNKED,
                          .offset = -1,
                          .filters = (form->shuffle ? DM_FILTER_SHUFFLE : 0u) |
                                     (form->deflate > 0 ? DM_FILTER_DEFLATE : 0u) |
                                     (form->zstd > 0 ? DM_FILTER_ZSTD : 0u)};
  pack_lay(packed, form, dataset);
  char path[DM_DESCRIPTOR]; /* its name may be too long for a location */
  snprintf(dataset->at.file, sizeof dataset->at.file, "%s",
           dm_output_by_descriptor(packed->made, path));
  return dm_dataset_identify(dataset);
}

/* The same of a folder of Zarr. */
static dm_status pack_store_of(const pack_task *p, dm_dataset *dataset) {
  const dm_output_file *to = p->to;
  const bool column = to->leads.vector == DM_AS_COLUMN, row = to->leads.vector == DM_AS_ROW;
  dm_zarr zarr;
  dm_zarr_survey survey;
  struct stat info;
  *dataset = (dm_dataset){.zarr = true};
  memcpy(dataset->at.file, to->part, sizeof dataset->at.file - 1);
  DM_TRY(dm_zarr_read_array(&dataset->at, false, &zarr, &info));
  if (!dm_zarr_dataset(&zarr, column ? 1 : row ? 0 : zarr.rank - 1, dataset))
    return dm_fail_at(DM_E_BUG, &to->at, "its shape cannot be read");
  DM_TRY(dm_zarr_look(&dataset->at, &zarr, false, false, &survey));
  dm_zarr_identify(&info, &survey, dataset);
  return DM_OK;
}

static dm_status compare_chunks(pack_task *p) {
  dm_dataset dataset;
  DM_TRY(p->to->store ? pack_store_of(p, &dataset) : pack_dataset_of(p, &dataset));
  dm_status status = dm_reader_open(&dataset, DM_DTYPE_NONE, &p->reader);
  if (!status) status = pack_run(p, compare_chunk);
  dm_reader_close(p->reader);
  p->reader = NULL;
  /* Readers report unreadable files as wrong input, but this file was just written. */
  if (status && status->code == DM_E_INPUT) status->code = DM_E_IO;
  return status;
}

static dm_status write_and_compare(pack_task *p, int threads) {
  DM_TRY(open_pool(p, threads));
  if (p->to->store) {
    DM_TRY(pack_run(p, pack_chunk));
    DM_TRY(dm_tile_sums_compare(p->tiles, p->from->part));
  } else {
    DM_TRY(dm_output_edit(p->to, write_chunks, p));
  }
  DM_TRY(dm_output_sync_made(p->to, p->keepalive));
  return compare_chunks(p);
}

/* A dm_output_filling: the structure; chunks follow once the file can be read. */
static dm_status make_structure(void *context, dm_output_file *to) {
  int model;
  int64_t length;
  if (to->store) return dm_store_describe(to, context);
  DM_TRY(dm_output_model(to, context, &model));
  dm_status status = dm_output_copy_model(to, model, to->made, &length);
  close(model);
  return status;
}

static dm_status pack_into(pack_task *p, int threads) {
  dm_output_form form = *p->form;
  DM_TRY(dm_output_fill(p->to, p->from, p->from, form.zarr, make_structure, &form));
  dm_status status = write_and_compare(p, threads);
  dm_pool_close(p->pool);
  free(p->sums);
  if (status) dm_output_give_up(p->to);
  return status;
}

dm_status dm_pack(const dm_output_file *file, const dm_output_form *form, int threads,
                  dm_tile_sums *sums, const dm_keepalive *keepalive, dm_output_file *packed) {
  pack_task p = {
      .from = file, .to = packed, .form = form, .keepalive = keepalive, .tiles = sums, .set = -1};
  dm_status status = pack_into(&p, threads);
  if (status && !status->hint[0])
    dm_hint(status, "the complete result is '%.200s', contiguous", file->part);
  return status;
}
