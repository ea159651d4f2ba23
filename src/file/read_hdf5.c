#include "core/checked.h"
#include "file/hdf5_attribute.h"
#include "file/hdf5_type.h"
#include "file/reader.h"

#include <stdlib.h>

/* Bytes of HDF5's chunk cache for a dataset, and for each of many sources. */
enum { CACHE_LIMIT = 1 << 28, SOURCE_CACHE_LIMIT = 1 << 22, SLOTS_PER_CHUNK = 10 };

static int64_t bytes_per_chunk(const dm_dataset *d) {
  return d->chunk_rows * d->chunk_cols * dm_dtype_size(d->dtype);
}

/* Room for a row of chunks, so that narrow rectangles do not unpack chunks repeatedly. */
static dm_status set_cache(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  if (d->layout != DM_CHUNKED) return DM_OK;
  int64_t chunk = bytes_per_chunk(d), across = dm_ceil_div(d->cols, d->chunk_cols);
  const int64_t limit = reader->owner ? SOURCE_CACHE_LIMIT : CACHE_LIMIT;
  int64_t chunks = dm_max(1, dm_min(across, limit / chunk));
  if (H5Pset_chunk_cache(reader->access, (size_t)(chunks * SLOTS_PER_CHUNK + 1),
                         (size_t)(chunks * chunk), 1.0) < 0)
    return dm_h5_fail(DM_E_IO, &d->at, "no chunk cache");
  return DM_OK;
}

/* What is being written may have grown. */
static bool is_size(int64_t now, int64_t before, bool grows) {
  return grows ? now >= before : now == before;
}

/* The dataset must be as inspected: the size of the staging memory depends on it. */
static dm_status check_dataset(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  char text[DM_TYPE_TEXT];
  dm_dtype dtype = DM_DTYPE_NONE;
  bool swapped = false;
  int64_t rows, cols;
  dm_vector vector = d->vector;
  DM_TRY(dm_h5_shape(&d->at, reader->set, &vector, &rows, &cols));
  reader->type = H5Dget_type(reader->set);
  if (reader->type < 0 ||
      !dm_h5_read_type(reader->type, dm_h5_is_bfloat16(reader->set), &dtype, &swapped, text) ||
      dtype != d->dtype || swapped != d->swapped || vector != d->vector ||
      !is_size(rows, d->rows, d->swmr) || !is_size(cols, d->cols, d->swmr) ||
      (int64_t)H5Tget_size(reader->type) != dm_dtype_size(dtype))
    return dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
  return DM_OK;
}

dm_status dm_reader_open_hdf5(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  const bool undo = d->layout == DM_CHUNKED && !(d->filters & DM_FILTER_OTHER);
  void *handle = NULL;
  DM_TRY(dm_h5_start((d->filters & DM_FILTER_OTHER) != 0));
  DM_TRY(undo ? dm_chunk_open_file(&d->at, d->swmr, &reader->file, &reader->ear)
              : dm_h5_open_as(&d->at, 0, d->swmr, &reader->file));
  if (H5Fget_vfd_handle(reader->file, H5P_DEFAULT, &handle) < 0 || !handle)
    return dm_h5_fail(DM_E_IO, &d->at, "the open file cannot be identified");
  DM_TRY(dm_reader_same_file(d, *(int *)handle));
  reader->access = dm_h5_access(d->elsewhere, &reader->leave);
  if (reader->access < 0) return dm_h5_fail(DM_E_IO, &d->at, "no access list");
  DM_TRY(set_cache(reader));
  reader->set = H5Dopen2(reader->file, d->at.dataset, reader->access);
  if (reader->set < 0) return dm_h5_fail(DM_E_IO, &d->at, "the dataset cannot be opened again");
  DM_TRY(check_dataset(reader));
  return undo && !reader->chunks ? dm_reader_open_chunks(reader) : DM_OK;
}

void dm_reader_close_hdf5(dm_reader *reader) {
  if (reader->type >= 0) H5Tclose(reader->type);
  if (reader->set >= 0) H5Dclose(reader->set);
  if (reader->access >= 0) H5Pclose(reader->access);
  if (reader->file >= 0) dm_chunk_close_file(reader->file, reader->ear);
  reader->type = reader->set = reader->access = reader->file = -1;
  reader->ear = NULL;
}

/* Reads in the file's own type: the reader converts, not HDF5. */
dm_status dm_reader_fetch_hdf5(const dm_reader *reader, dm_rectangle part, void *memory) {
  const dm_dataset *d = &reader->dataset;
  hsize_t shape[2] = {(hsize_t)part.rows, (hsize_t)part.cols};
  hid_t space;
  DM_TRY(dm_h5_start((d->filters & DM_FILTER_OTHER) != 0));
  DM_TRY(dm_h5_select(d, reader->set, part.row, part.col, part.rows, part.cols, &space));
  /* The same shape as the selection: HDF5 is many times slower if they differ. */
  hid_t packed = H5Screate_simple(2, shape, NULL);
  dm_status status = DM_OK;
  if (packed < 0 || H5Dread(reader->set, reader->type, packed, space, H5P_DEFAULT, memory) < 0)
    status = dm_h5_fail(DM_E_IO, &d->at, "rows %lld to %lld cannot be read", (long long)part.row,
                        (long long)(part.row + part.rows - 1));
  if (packed >= 0) H5Sclose(packed);
  H5Sclose(space);
  return status;
}
