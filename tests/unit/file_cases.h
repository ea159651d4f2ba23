/* file_cases: HDF5 files for tests of src/dataset, io and inspect, written with the HDF5 library.
 */
#ifndef DM_TEST_FILE_CASES_H
#define DM_TEST_FILE_CASES_H

#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>

#include "checks.h"
#include "core/checked.h"
#include "core/copy.h"
#include "dataset/hdf5_type.h"
#include "dataset/naming.h"
#include "inspect/inspect.h"
#include "io/output.h"
#include "io/read.h"
#include "lib/create_output.h"

static inline dm_location at(const char *folder, const char *text) {
  char path[1024];
  dm_location location;
  snprintf(path, sizeof path, "%s/%s", folder, text);
  ok(dm_location_parse(path, &location));
  return location;
}

static inline dm_dataset inspected(const dm_location *location) {
  dm_dataset dataset;
  ok(dm_file_inspect(location, &(dm_trust){0}, &dataset, NULL));
  return dataset;
}

/* Element (i, j): integers that all types can represent, with all their byte patterns. */
static inline double element_of(int64_t row, int64_t col, int part) {
  return (double)((row * 7 + col * 3 + part * 5) % 101 - 50);
}

/* A packed matrix of those elements; free() it. */
static inline void *elements(dm_dtype dtype, int64_t rows, int64_t cols) {
  int64_t size = dm_dtype_size(dtype);
  char *data = malloc((size_t)(rows * cols * size));
  assert_non_null(data);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      double value[2] = {element_of(i, j, 0), element_of(i, j, 1)};
      dm_store_wide(data + (i * cols + j) * size, dtype, 1, value, 1);
    }
  return data;
}

/* Checks that LOCATION holds the ROWS x COLS of DATA. */
static inline void expect_data(const dm_location *location, dm_dtype dtype, int64_t rows,
                               int64_t cols, const void *data) {
  const dm_dataset d = inspected(location);
  const size_t bytes = (size_t)(rows * cols * dm_dtype_size(dtype));
  dm_reader *reader;
  dm_view view = dm_view_row_major(malloc(bytes), dtype, rows, cols);
  assert_true(d.dtype == dtype && d.rows == rows && d.cols == cols && !d.swapped);
  ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
  ok(dm_reader_read(reader, 0, 0, &view, 1, false));
  dm_reader_close(reader);
  assert_memory_equal(view.base, data, bytes);
  free(view.base);
}

/* Writes DATA as all of FILE. */
static inline void write_data(const dm_output_file *file, const void *data) {
  dm_output *output;
  ok(dm_output_open(file, &output));
  ok(dm_output_write(output, 0, 0,
                     dm_view_row_major((void *)data, file->dtype, file->rows, file->cols)));
  ok(dm_output_close(output));
}

static inline void give_up(dm_output_file *file) {
  dm_output_discard(file);
  dm_output_release(file);
}

/* Limits files to BYTES, like a disk that is then full; -1: restores the limit. */
static inline void limit_files(int64_t bytes) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, SIG_IGN);
}

typedef struct file_form {
  const char *name;
  bool swapped, compact;
  int64_t chunk_rows, chunk_cols; /* 0: contiguous */
  bool filters;
  hsize_t user_block;
} file_form;

static inline hid_t swapped_type(dm_dtype dtype) {
  hid_t type = dm_h5_make_type(dtype);
  if (!dm_dtype_is_complex(dtype)) {
    H5Tset_order(type, H5T_ORDER_BE);
    return type;
  }
  hid_t part = H5Tcopy(dtype == DM_C64 ? H5T_IEEE_F32BE : H5T_IEEE_F64BE);
  H5Tclose(type);
  type = H5Tcreate(H5T_COMPOUND, 2 * H5Tget_size(part));
  H5Tinsert(type, "r", 0, part);
  H5Tinsert(type, "i", H5Tget_size(part), part);
  H5Tclose(part);
  return type;
}

/* Writes a file with dataset /m in FORM. */
static inline void write_file(const char *path, dm_dtype dtype, int64_t rows, int64_t cols,
                              const file_form *form) {
  hsize_t dims[2] = {(hsize_t)rows, (hsize_t)cols};
  /* At most the matrix: HDF5 only allows larger chunks if the dataset can grow. */
  hsize_t chunk[2] = {(hsize_t)dm_min(form->chunk_rows, rows),
                      (hsize_t)dm_min(form->chunk_cols, cols)};
  hid_t creation = H5Pcreate(H5P_FILE_CREATE), list = H5Pcreate(H5P_DATASET_CREATE);
  hid_t type = form->swapped ? swapped_type(dtype) : dm_h5_make_type(dtype);
  hid_t space = H5Screate_simple(2, dims, NULL);
  H5Pset_userblock(creation, form->user_block);
  if (form->compact) H5Pset_layout(list, H5D_COMPACT);
  if (form->chunk_rows) H5Pset_chunk(list, 2, chunk);
  if (form->filters) H5Pset_shuffle(list), H5Pset_deflate(list, 3), H5Pset_fletcher32(list);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  hid_t set = H5Dcreate2(file, "m", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  char *data = elements(dtype, rows, cols);
  if (form->swapped) dm_swap_bytes(data, dtype, rows * cols);
  assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  free(data);
  H5Dclose(set);
  H5Sclose(space);
  H5Tclose(type);
  H5Pclose(list);
  H5Pclose(creation);
  assert_true(H5Fclose(file) >= 0);
}

#endif
