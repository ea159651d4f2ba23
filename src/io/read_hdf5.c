#include "core/checked.h"
#include "dataset/hdf5_compound.h"
#include "dataset/hdf5_type.h"
#include "io/read_impl.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of HDF5's chunk cache for a dataset, and for each of many sources. */
enum { CACHE_LIMIT = 1 << 28, SOURCE_CACHE_LIMIT = 1 << 22, SLOTS_PER_CHUNK = 10 };

static int64_t bytes_per_chunk(const dm_dataset *d) {
  int64_t bytes = 0;
  (void)dm_dataset_stored(d, d->chunk_rows, d->chunk_cols, &bytes); /* as inspected */
  return dm_max(1, bytes);
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
static bool is_shape(const dm_axes *now, const dm_axes *before, bool grows) {
  for (int i = 0; i < before->count; i++)
    if (now->extent[i] < before->extent[i] || (now->extent[i] > before->extent[i] && !grows))
      return false;
  return now->count == before->count;
}

/* Whether TYPE is that of elements as they were inspected. */
static dm_status check_compound(dm_reader *reader, int rank) {
  const dm_dataset *d = &reader->dataset;
  const bool pair = d->parts == DM_PARTS_PAIRED;
  dm_dataset now = {.at = d->at, .compound.path = d->compound.path};
  const dm_trust trust = {.complex_axis = dm_dtype_is_complex(d->dtype) && !pair ? DM_COMPLEX_AUTO
                                                                                 : DM_COMPLEX_NONE};
  DM_TRY(dm_h5_read_compound(&trust, reader->type, rank, &now));
  return memcmp(&now.compound, &d->compound, sizeof now.compound) == 0 && now.swapped == d->swapped
             ? DM_OK
             : dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
}

/* The dataset must be as inspected: the size of the staging memory depends on it. */
static dm_status check_dataset(dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  char text[DM_TYPE_TEXT];
  dm_dtype dtype = DM_DTYPE_NONE;
  bool swapped = false;
  const dm_dtype stored = d->parts == DM_PARTS_PAIRED ? dm_dtype_real(d->dtype) : d->dtype;
  dm_axes before = dm_dataset_axes(d), now;
  bool bfloat16;
  if (stored != d->dtype) before.extent[before.count - 1] = 2;
  DM_TRY(dm_h5_matrix_extents(d, reader->set, &now));
  reader->type = H5Dget_type(reader->set);
  if (reader->type < 0) return dm_h5_fail(DM_E_IO, &d->at, "its element type cannot be read");
  if (d->compound.bytes > 0 && is_shape(&now, &before, d->swmr))
    return check_compound(reader, now.count - d->compound.inner);
  DM_TRY(dm_h5_is_bfloat16(&d->at, reader->set, reader->type, &bfloat16));
  if (!dm_h5_read_type(reader->type, bfloat16, &dtype, &swapped, text) || dtype != stored ||
      swapped != d->swapped || !is_shape(&now, &before, d->swmr) ||
      (int64_t)H5Tget_size(reader->type) != dm_dtype_size(dtype))
    return dm_fail_at(DM_E_IO, &d->at, "changed since it was inspected");
  return DM_OK;
}

dm_status dm_reader_open_hdf5(dm_reader *reader) {
  DM_H5_ALONE;
  const dm_dataset *d = &reader->dataset;
  const bool undo = d->layout == DM_CHUNKED && !(d->filters & DM_FILTER_OTHER);
  void *handle = NULL;
  char name[DM_PATH];
  DM_TRY(dm_h5_start((d->filters & DM_FILTER_OTHER) != 0));
  DM_TRY(undo || d->members
             ? dm_h5_open_observed(&d->at,
                                   &(dm_h5_observed){.members = d->members, .swmr = d->swmr},
                                   &reader->file, &reader->observer)
             : dm_h5_open_as(&d->at, &(dm_h5_opening){.swmr = d->swmr}, &reader->file));
  if (H5Fget_vfd_handle(reader->file, H5P_DEFAULT, &handle) < 0 || !handle)
    return dm_h5_fail(DM_E_IO, &d->at, "the open file cannot be identified");
  DM_TRY(dm_reader_same_file(d, *(int *)handle));
  reader->access = dm_h5_access(d->elsewhere, &reader->leave);
  if (reader->access < 0) return dm_h5_fail(DM_E_IO, &d->at, "no access list");
  DM_TRY(set_cache(reader));
  reader->set = H5Dopen2(reader->file, dm_h5_set_name(d, name), reader->access);
  if (reader->set < 0) return dm_h5_fail(DM_E_IO, &d->at, "the dataset cannot be opened again");
  DM_TRY(check_dataset(reader));
  return undo && !reader->chunks ? dm_reader_open_chunks(reader) : DM_OK;
}

void dm_reader_close_hdf5(dm_reader *reader) {
  DM_H5_ALONE;
  if (reader->type >= 0) H5Tclose(reader->type);
  if (reader->set >= 0) H5Dclose(reader->set);
  if (reader->access >= 0) H5Pclose(reader->access);
  if (reader->file >= 0) dm_h5_close_observed(reader->file, reader->observer);
  reader->type = reader->set = reader->access = reader->file = -1;
  reader->observer = NULL;
}

/* Reads BOX of the dataset to (row, col) of the ROWS x COLS elements in MEMORY. In the file's own
 * type: the reader converts, not HDF5. Of paired parts an element is two of the file. */
static dm_status fetch_box(const dm_reader *reader, const dm_box *box, const dm_rectangle *to,
                           const hsize_t shape[2], void *memory) {
  const dm_dataset *d = &reader->dataset;
  const hsize_t each = d->parts == DM_PARTS_PAIRED ? 2 : 1;
  const hsize_t at[2] = {(hsize_t)to->row, (hsize_t)to->col * each};
  const hsize_t count[2] = {(hsize_t)to->rows, (hsize_t)to->cols * each};
  const hsize_t all[2] = {shape[0], shape[1] * each};
  dm_box stored = *box;
  DM_H5_HELD hid_t space = -1;
  if (each == 2) stored.count[dm_dataset_axes(d).count - 1] = 2;
  DM_TRY(dm_h5_select(d, reader->set, &stored, &space));
  /* The same shape as the selection: HDF5 is many times slower if they differ. */
  DM_H5_HELD hid_t packed = H5Screate_simple(2, all, NULL);
  if (packed < 0 || H5Sselect_hyperslab(packed, H5S_SELECT_SET, at, NULL, count, NULL) < 0 ||
      H5Dread(reader->set, reader->type, packed, space, H5P_DEFAULT, memory) < 0)
    return dm_h5_fail(DM_E_IO, &d->at, "its elements cannot be read");
  return DM_OK;
}

/* The largest box of SIDE from element I of LINE on, at most COUNT, as the axes FIRST and following
 * of BOX. */
static int64_t add_side(dm_side side, dm_line line, int64_t i, int64_t count, int first,
                        dm_box *box) {
  int64_t start[DM_AXES], step[DM_AXES], number[DM_AXES];
  const int64_t size =
      dm_side_box(side, (dm_line){dm_line_at(line, i), line.step}, count - i, start, step, number);
  for (int a = 0; a < side.count; a++) {
    box->start[first + a] = (hsize_t)start[a];
    box->step[first + a] = (hsize_t)step[a];
    box->count[first + a] = (hsize_t)number[a];
  }
  return size;
}

dm_status dm_reader_load_elements(const dm_reader *reader, int64_t first, int64_t count,
                                  void *memory) {
  DM_H5_ALONE;
  const dm_dataset *d = &reader->dataset;
  const dm_axes axes = dm_dataset_axes(d);
  const dm_side all = {.count = axes.count - d->compound.inner, .extent = axes.extent};
  dm_box box;
  if (dm_h5_compound_is_loose(d, reader->type))
    return dm_hint(dm_fail_at(DM_E_INPUT, &d->at,
                              "has strings of any length beside its numbers, in a layout in which "
                              "HDF5 would have to read them, too"),
                   "'h5repack -f GZIP=1 -l CHUNK=1000 IN OUT' writes it in chunks");
  DM_TRY(dm_h5_start((d->filters & DM_FILTER_OTHER) != 0));
  for (int64_t i = 0, some; i < count; i += some) {
    some = add_side(all, (dm_line){first, 1}, i, count, 0, &box);
    const hsize_t number = (hsize_t)some;
    DM_H5_HELD hid_t space = -1;
    DM_TRY(dm_h5_select(d, reader->set, &box, &space));
    DM_H5_HELD hid_t packed = H5Screate_simple(1, &number, NULL);
    if (packed < 0 || H5Dread(reader->set, reader->type, packed, space, H5P_DEFAULT,
                              (char *)memory + i * d->compound.bytes) < 0)
      return dm_h5_fail(DM_E_IO, &d->at, "its elements cannot be read");
  }
  return DM_OK;
}

dm_status dm_reader_fetch_hdf5(const dm_reader *reader, dm_crossings of, void *memory) {
  DM_H5_ALONE;
  const dm_axes axes = dm_dataset_axes(&reader->dataset);
  const hsize_t shape[2] = {(hsize_t)of.rows, (hsize_t)of.cols};
  dm_rectangle to = {0};
  dm_box box;
  DM_TRY(dm_h5_start((reader->dataset.filters & DM_FILTER_OTHER) != 0));
  for (; to.row < of.rows; to.row += to.rows) {
    to.rows = add_side(dm_axes_side(&axes, 0), of.down, to.row, of.rows, 0, &box);
    for (to.col = 0; to.col < of.cols; to.col += to.cols) {
      to.cols = add_side(dm_axes_side(&axes, 1), of.right, to.col, of.cols, axes.of_rows, &box);
      DM_TRY(fetch_box(reader, &box, &to, shape, memory));
    }
  }
  return DM_OK;
}
