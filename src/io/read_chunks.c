#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/chunk_filter.h"
#include "io/reader.h"

/* Bytes of unpacked chunks that are kept; those without filters are as fast to read again. */
enum { CACHE_LIMIT = 1 << 27, PLAIN_LIMIT = 1 << 23 };

/* An unpacked chunk; NUMBER counts chunks row by row. */
typedef struct slot {
  int64_t number; /* -1: none */
  void *data;
} slot;

struct dm_chunks {
  dm_chunk_filter filter;
  int64_t across;         /* chunks in a row */
  int64_t bytes;          /* of a chunk */
  bool whole_only;        /* chunks at the border are stored without filters */
  unsigned char fill[16]; /* an element of a chunk that was never written */
  void *spare;
  int64_t slots;
  slot *cache;
};

static dm_status read_filters(const dm_location *at, hid_t creation, dm_chunk_filter *filter) {
  filter->count = H5Pget_nfilters(creation);
  if (filter->count < 0 || filter->count > DM_CHUNK_FILTERS)
    return dm_fail_at(DM_E_INPUT, at, "has %d filters", filter->count);
  for (int i = 0; i < filter->count; i++) {
    unsigned flags, config, values[4] = {0};
    size_t count = 4;
    switch (H5Pget_filter2(creation, (unsigned)i, &flags, &count, values, 0, NULL, &config)) {
    case H5Z_FILTER_DEFLATE:
      filter->step[i] = DM_STEP_DEFLATE;
      break;
    case H5Z_FILTER_SHUFFLE:
      filter->step[i] = DM_STEP_SHUFFLE;
      break;
    case H5Z_FILTER_FLETCHER32:
      filter->step[i] = DM_STEP_FLETCHER32;
      break;
    default:
      return dm_fail_at(DM_E_IO, at, "changed since it was inspected");
    }
    filter->shuffled_size[i] = count > 0 ? values[0] : 1;
  }
  return DM_OK;
}

static dm_status read_properties(dm_reader *reader, struct dm_chunks *chunks) {
  const dm_dataset *d = &reader->dataset;
  hsize_t shape[2] = {0, 0};
  unsigned options = 0;
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  hid_t creation = H5Dget_create_plist(reader->set);
  dm_status status = DM_OK;
  if (creation < 0 || H5Pget_chunk(creation, 2, shape) != 2 || (int64_t)shape[0] != d->chunk_rows ||
      (int64_t)shape[1] != d->chunk_cols)
    status = dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
#if H5_VERSION_GE(1, 10, 0)
  if (!status && H5Pget_chunk_opts(creation, &options) < 0)
    status = dm_h5_fail(DM_E_INPUT, &d->at, "its chunks cannot be read");
#endif
  chunks->whole_only = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  if (!status && H5Pfill_value_defined(creation, &fill) >= 0 && fill != H5D_FILL_VALUE_UNDEFINED &&
      H5Pget_fill_value(creation, reader->type, chunks->fill) < 0)
    status = dm_h5_fail(DM_E_INPUT, &d->at, "its fill value cannot be read");
  if (!status) status = read_filters(&d->at, creation, &chunks->filter);
  if (creation >= 0) H5Pclose(creation);
  return status;
}

dm_status dm_reader_open_chunks(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  void *memory;
  DM_TRY(dm_buffer_zeroed(1, sizeof(struct dm_chunks), &memory));
  struct dm_chunks *chunks = reader->chunks = memory;
  chunks->across = dm_ceil_div(d->cols, d->chunk_cols);
  chunks->bytes = d->chunk_rows * d->chunk_cols * dm_dtype_size(d->dtype);
  DM_TRY(read_properties(reader, chunks));
  int64_t all;
  if (dm_mul_overflows(chunks->across, dm_ceil_div(d->rows, d->chunk_rows), &all)) all = INT64_MAX;
  int64_t limit = chunks->filter.count > 0 ? CACHE_LIMIT : PLAIN_LIMIT;
  chunks->slots = dm_max(1, dm_min(all, limit / dm_chunk_filter_room(chunks->bytes)));
  DM_TRY(dm_buffer_zeroed(chunks->slots, sizeof(slot), &memory));
  chunks->cache = memory;
  for (int64_t i = 0; i < chunks->slots; i++) chunks->cache[i].number = -1;
  return dm_buffer_alloc(dm_chunk_filter_room(chunks->bytes), &chunks->spare);
}

void dm_reader_close_chunks(dm_reader *reader) {
  struct dm_chunks *chunks = reader->chunks;
  if (!chunks) return;
  for (int64_t i = 0; chunks->cache && i < chunks->slots; i++) free(chunks->cache[i].data);
  free(chunks->cache);
  free(chunks->spare);
  free(chunks);
}

static void fill_chunk(const dm_reader *reader, void *data) {
  size_t size = (size_t)dm_dtype_size(reader->dataset.dtype);
  for (char *at = data, *end = at + reader->chunks->bytes; at < end; at += size)
    memcpy(at, reader->chunks->fill, size);
}

/* Whether the chunk at OFFSET reaches over the border of the matrix. */
static bool is_partial(const dm_dataset *d, const hsize_t offset[2]) {
  return (int64_t)offset[0] + d->chunk_rows > d->rows ||
         (int64_t)offset[1] + d->chunk_cols > d->cols;
}

/* Whether the file has no chunk there, as opposed to one that cannot be found. */
static bool is_absent(hid_t set, const hsize_t offset[2]) {
#if H5_VERSION_GE(1, 10, 5)
  haddr_t address = 0;
  hsize_t bytes;
  unsigned skipped;
  return H5Dget_chunk_info_by_coord(set, offset, &skipped, &address, &bytes) >= 0 &&
         address == HADDR_UNDEF;
#else
  (void)set, (void)offset;
  return true;
#endif
}

static dm_status unpack(dm_reader *reader, const hsize_t offset[2], void **data) {
  const dm_dataset *d = &reader->dataset;
  struct dm_chunks *chunks = reader->chunks;
  hsize_t stored = 0;
  uint32_t skipped = 0;
  bool found = H5Dget_chunk_storage_size(reader->set, offset, &stored) >= 0 && stored > 0;
  if (!found && d->no_data && is_absent(reader->set, offset)) {
    H5Eclear2(H5E_DEFAULT);
    fill_chunk(reader, *data);
    return DM_OK;
  }
  if (!found)
    return dm_h5_fail(DM_E_INPUT, &d->at, "the chunk at (%llu, %llu) cannot be found",
                      (unsigned long long)offset[0], (unsigned long long)offset[1]);
  if (stored > (hsize_t)dm_chunk_filter_room(chunks->bytes))
    return dm_fail_at(DM_E_INPUT, &d->at, "a chunk says that it has %llu bytes",
                      (unsigned long long)stored);
  if (H5Dread_chunk(reader->set, H5P_DEFAULT, offset, &skipped, *data) < 0)
    return dm_h5_fail(DM_E_IO, &d->at, "the chunk at (%llu, %llu) cannot be read",
                      (unsigned long long)offset[0], (unsigned long long)offset[1]);
  if (chunks->whole_only && is_partial(d, offset)) skipped = UINT32_MAX;
  return dm_io_named(dm_chunk_filter_undo(&chunks->filter, skipped, (int64_t)stored, chunks->bytes,
                                          data, &chunks->spare),
                     &d->at);
}

/* *data points to the unpacked chunk until the next call. */
static dm_status get_chunk(dm_reader *reader, int64_t down, int64_t right, void **data) {
  const dm_dataset *d = &reader->dataset;
  struct dm_chunks *chunks = reader->chunks;
  int64_t number = down * chunks->across + right;
  slot *place = &chunks->cache[number % chunks->slots];
  if (place->number != number) {
    hsize_t offset[2] = {(hsize_t)(down * d->chunk_rows), (hsize_t)(right * d->chunk_cols)};
    if (!place->data) DM_TRY(dm_buffer_alloc(dm_chunk_filter_room(chunks->bytes), &place->data));
    place->number = -1;
    DM_TRY(unpack(reader, offset, &place->data));
    place->number = number;
  }
  *data = place->data;
  return DM_OK;
}

/* Copies what chunk (down, right) and PART share into MEMORY, which holds PART row after row. */
static dm_status copy_chunk(dm_reader *reader, dm_rectangle part, int64_t down, int64_t right,
                            char *memory) {
  const dm_dataset *d = &reader->dataset;
  int64_t size = dm_dtype_size(d->dtype), top = down * d->chunk_rows, left = right * d->chunk_cols;
  int64_t row = dm_max(part.row, top), col = dm_max(part.col, left);
  int64_t end_row = dm_min(part.row + part.rows, top + d->chunk_rows);
  int64_t end_col = dm_min(part.col + part.cols, left + d->chunk_cols);
  void *data;
  DM_TRY(get_chunk(reader, down, right, &data));
  for (int64_t i = row; i < end_row; i++)
    memcpy(memory + ((i - part.row) * part.cols + col - part.col) * size,
           (char *)data + ((i - top) * d->chunk_cols + col - left) * size,
           (size_t)((end_col - col) * size));
  return DM_OK;
}

dm_status dm_reader_fetch_chunks(dm_reader *reader, dm_rectangle part, void *memory) {
  const dm_dataset *d = &reader->dataset;
  int64_t last_down = (part.row + part.rows - 1) / d->chunk_rows;
  int64_t last_right = (part.col + part.cols - 1) / d->chunk_cols;
  for (int64_t down = part.row / d->chunk_rows; down <= last_down; down++)
    for (int64_t right = part.col / d->chunk_cols; right <= last_right; right++)
      DM_TRY(copy_chunk(reader, part, down, right, memory));
  return DM_OK;
}
