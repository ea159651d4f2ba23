#include "dataset/chunk_facts.h"

#include "core/checked.h"
#include "dataset/hdf5_use.h"

/* ---- places in the file ---- */

/* Whether the file has no such chunk, as opposed to one that cannot be found. */
static bool is_absent(hid_t set, const hsize_t *offset) {
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

dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_h5_observer *observer,
                        dm_chunk_place *place) {
  const dm_location *at = &dataset->at;
  hsize_t offset[DM_AXES];
  dm_h5_place(dataset, place->row, place->col, offset);
  hsize_t stored = 0;
  char nothing[1];
  place->offset = place->bytes = 0;
  if (H5Dget_chunk_storage_size(set, offset, &stored) < 0 || stored == 0) {
    bool absent = is_absent(set, offset);
    H5Eclear2(H5E_DEFAULT);
    return absent ? DM_OK
                  : dm_h5_fail(DM_E_INPUT, at, "the chunk at (%lld, %lld) cannot be found",
                               (long long)place->row, (long long)place->col);
  }
  place->bytes = stored > INT64_MAX ? INT64_MAX : (int64_t)stored;
  if (!observer) return DM_OK;
  /* Nothing is read: the driver only observes the request. */
  observer->intercepts = true;
  observer->intercepted = false;
  herr_t result = H5Dread_chunk(set, H5P_DEFAULT, offset, &place->skipped, nothing);
  observer->intercepts = false;
  if (result < 0 || !observer->intercepted || (hsize_t)observer->bytes != stored)
    return dm_h5_fail(DM_E_INPUT, at, "the chunk at (%lld, %lld) cannot be found",
                      (long long)place->row, (long long)place->col);
  place->offset = observer->offset;
  return DM_OK;
}

/* ---- filters, and a few chunks ---- */

const dm_filter dm_filters[] = {
    {H5Z_FILTER_SHUFFLE, "shuffle", DM_FILTER_SHUFFLE, DM_STEP_SHUFFLE},
    {H5Z_FILTER_DEFLATE, "deflate", DM_FILTER_DEFLATE, DM_STEP_DEFLATE},
    {H5Z_FILTER_FLETCHER32, "fletcher32", DM_FILTER_FLETCHER32, DM_STEP_FLETCHER32},
    {DM_H5_LZF, "lzf", DM_FILTER_LZF, DM_STEP_LZF},
    {DM_ZSTD_FILTER, "zstd", DM_FILTER_ZSTD, DM_STEP_CODEC},
    {32004, "lz4", DM_FILTER_LZ4, DM_STEP_CODEC},
    {32008, "bitshuffle", DM_FILTER_BITSHUFFLE, DM_STEP_CODEC},
    {32001, "blosc", DM_FILTER_BLOSC, DM_STEP_CODEC},
    {32026, "blosc2", DM_FILTER_BLOSC2, DM_STEP_CODEC},
    {-1, "crc32c", DM_FILTER_CRC32C, DM_STEP_CRC32C}, /* Zarr's, which HDF5 has not */
    {-1, "transposed", DM_FILTER_TRANSPOSE, DM_STEP_TRANSPOSE},
    {-1, "in shards", DM_FILTER_SHARDS, DM_STEP_CODEC},
    {.id = H5Z_FILTER_SZIP, .name = "szip"},
    {.id = H5Z_FILTER_NBIT, .name = "n-bit"},
    {.id = H5Z_FILTER_SCALEOFFSET, .name = "scale-offset"},
    {.id = 305, .name = "LZO"},
    {.id = 307, .name = "bzip2"},
    {.id = 32013, .name = "zfp"},
    {.id = 32017, .name = "SZ"},
    {.id = 32018, .name = "fcidecomp"},
    {.id = 32019, .name = "jpeg"},
    {.id = 32024, .name = "SZ3"},
    {.name = NULL},
};

const dm_filter *dm_filter_of(int id) {
  const dm_filter *f = dm_filters;
  while (f->name && f->id != id) f++;
  return f->name ? f : NULL;
}

dm_status dm_chunk_filters(const dm_location *at, hid_t creation, dm_chunk_filter *filter) {
  filter->count = H5Pget_nfilters(creation);
  if (filter->count < 0 || filter->count > DM_CHUNK_FILTERS)
    return dm_fail_at(DM_E_INPUT, at, "has %d filters", filter->count);
  for (int i = 0; i < filter->count; i++) {
    unsigned flags, config, values[DM_CODEC_VALUES] = {0};
    size_t count = DM_CODEC_VALUES;
    const H5Z_filter_t id =
        H5Pget_filter2(creation, (unsigned)i, &flags, &count, values, 0, NULL, &config);
    const dm_filter *f = dm_filter_of((int)id);
    const bool codec = !f || !f->flag || f->step == DM_STEP_CODEC;
    if (codec &&
        !dm_codec_find((int)id, dm_min((int64_t)count, DM_CODEC_VALUES), values, &filter->codec[i]))
      return dm_fail_at(DM_E_IO, at, "changed since it was inspected");
    filter->step[i] = codec ? DM_STEP_CODEC : f->step;
    filter->shuffled_size[i] = count > 0 ? values[0] : 1;
  }
  return DM_OK;
}

/* Chunks in DATASET; more than DM_FEW_CHUNKS if 64 bits cannot count them. */
static int64_t chunks_of(const dm_dataset *dataset) {
  const dm_axes axes = dm_dataset_axes(dataset);
  const int64_t down = dm_side_chunks(dm_axes_side(&axes, 0));
  const int64_t across = dm_side_chunks(dm_axes_side(&axes, 1));
  int64_t chunks;
  const bool known = down >= 0 && across >= 0 && !dm_mul_overflows(down, across, &chunks);
  return known ? chunks : INT64_MAX;
}

/* Whether SIZE bytes at OFFSET are inside of DATASET's file. */
static bool chunk_facts_is_inside(const dm_dataset *dataset, int64_t offset, int64_t size) {
  return offset >= 0 && size > 0 && size <= INT32_MAX && size <= dataset->file_bytes &&
         offset <= dataset->file_bytes - size;
}

static dm_status chunk_facts_find_place(const dm_dataset *dataset, hid_t set,
                                        dm_h5_observer *observer, int64_t number,
                                        dm_chunk_place *place) {
  const dm_axes axes = dm_dataset_axes(dataset);
  const dm_side down = dm_axes_side(&axes, 0), right = dm_axes_side(&axes, 1);
  const int64_t across = dm_side_chunks(right);
  *place = (dm_chunk_place){.row = dm_side_chunk_start(down, number / across),
                            .col = dm_side_chunk_start(right, number % across)};
  DM_TRY(dm_chunk_find(dataset, set, observer, place));
  return chunk_facts_is_inside(dataset, place->offset, place->bytes)
             ? DM_OK
             : dm_fail_at(DM_E_INPUT, &dataset->at, "has no such chunk");
}

static bool take_filters(const dm_location *at, hid_t creation, dm_few_chunks *few) {
  unsigned options = 0;
  dm_chunk_filter filter = {0};
  dm_status status = dm_chunk_filters(at, creation, &filter);
  bool good = !status && filter.count <= DM_FEW_STEPS &&
              H5Pget_chunk_opts(creation, &options) >= 0 && options == 0;
  dm_status_free(status);
  few->steps = filter.count;
  for (int i = 0; i < filter.count && good; i++) {
    good = filter.step[i] < DM_STEP_CODEC && filter.shuffled_size[i] <= INT32_MAX;
    few->step[i] = (int)filter.step[i];
    few->shuffled_size[i] = (int32_t)filter.shuffled_size[i];
  }
  return good;
}

void dm_few_chunks_find(dm_dataset *dataset, hid_t set, hid_t creation, dm_h5_observer *observer) {
  const int64_t chunks = chunks_of(dataset);
  dm_few_chunks few = {0};
  if (chunks > DM_FEW_CHUNKS || !take_filters(&dataset->at, creation, &few)) return;
  for (int64_t i = 0; i < chunks; i++) {
    dm_chunk_place place;
    dm_status status = chunk_facts_find_place(dataset, set, observer, i, &place);
    if (status) { /* whoever reads it meets the error */
      dm_status_free(status);
      H5Eclear2(H5E_DEFAULT);
      return;
    }
    few.offset[i] = place.offset;
    few.bytes[i] = (int32_t)place.bytes;
    few.skipped[i] = place.skipped;
  }
  few.chunks = (int)chunks;
  dataset->few = few;
}

bool dm_few_chunks_are_sane(const dm_dataset *dataset) {
  const dm_few_chunks *few = &dataset->few;
  if (few->chunks == 0) return true;
  if (dataset->layout != DM_CHUNKED || few->chunks < 0 || few->chunks > DM_FEW_CHUNKS ||
      few->chunks != chunks_of(dataset) || few->steps < 0 || few->steps > DM_FEW_STEPS)
    return false;
  for (int i = 0; i < few->steps; i++)
    if (few->step[i] < 0 || few->step[i] >= (int)DM_STEP_CODEC || few->shuffled_size[i] < 0)
      return false;
  for (int i = 0; i < few->chunks; i++)
    if (!chunk_facts_is_inside(dataset, few->offset[i], few->bytes[i])) return false;
  return true;
}

void dm_few_chunks_filter(const dm_few_chunks *few, dm_chunk_filter *filter) {
  *filter = (dm_chunk_filter){.count = few->steps};
  for (int i = 0; i < few->steps; i++) {
    filter->step[i] = (dm_chunk_step)few->step[i];
    filter->shuffled_size[i] = few->shuffled_size[i];
  }
}

void dm_few_chunks_place(const dm_few_chunks *few, int64_t number, dm_chunk_place *place) {
  place->offset = few->offset[number];
  place->bytes = few->bytes[number];
  place->skipped = few->skipped[number];
}
