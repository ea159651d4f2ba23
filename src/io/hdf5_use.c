#include "io/hdf5_use.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dm_status dm_h5_start(bool plugins) {
  /* Read when the library starts; each can load a shared object. HDF5_PLUGIN_PATH stays, for files
   * read with plug-ins later: the library reads it once, and loads nothing with plug-ins disabled
   * as below. */
  static const char *const unwanted[] = {"HDF5_VOL_CONNECTOR", "HDF5_DRIVER"};
  for (int i = 0; i < 2; i++)
    if (getenv(unwanted[i])) unsetenv(unwanted[i]);
  /* After a file that could not be closed, the library's exit handler would crash (1.10.8). Fails
   * when called again. */
  (void)H5dont_atexit();
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 ||
      H5PLset_loading_state(plugins ? H5PL_FILTER_PLUGIN : 0) < 0)
    return dm_fail(DM_E_IO, "the HDF5 library does not start");
  return DM_OK;
}

dm_status dm_h5_open_file(const dm_location *at, hid_t driver, hid_t *file) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  *file = -1;
  /* Objects that an error left open must not keep the file open. */
  if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
      (driver == 0 || H5Pset_driver(access, driver, NULL) >= 0))
    *file = H5Fopen(at->file, H5F_ACC_RDONLY, access);
  dm_status status =
      *file < 0 ? dm_h5_fail(DM_E_INPUT, at, "cannot be opened as an HDF5 file") : DM_OK;
  if (access >= 0) H5Pclose(access);
  return status;
}

hid_t dm_h5_unlocked(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  bool set = access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0;
#if H5_VERSION_GE(1, 10, 7) && !(H5_VERSION_GE(1, 12, 0) && !H5_VERSION_GE(1, 12, 1))
  set = set && H5Pset_file_locking(access, false, true) >= 0;
#endif
  if (set || access < 0) return access;
  H5Pclose(access);
  return -1;
}

/* HDF5 calls this for every link into another file. */
static herr_t stop_at_exit(const char *parent_file, const char *parent_group,
                           const char *child_file, const char *child_object, unsigned *flags,
                           hid_t access, void *data) {
  (void)parent_file, (void)parent_group, (void)child_object, (void)flags, (void)access;
  dm_h5_exit *leave = data;
  leave->met = true;
  snprintf(leave->file, sizeof leave->file, "%s", child_file);
  return -1;
}

hid_t dm_h5_access(bool elsewhere, dm_h5_exit *exit) {
  memset(exit, 0, sizeof *exit);
  hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  if (access >= 0 && !elsewhere && H5Pset_elink_cb(access, stop_at_exit, exit) < 0) {
    H5Pclose(access);
    return -1;
  }
  return access;
}

/* Converts DIMS of a dataset or a chunk to rows and columns. */
static bool take_shape(int rank, const hsize_t dims[2], dm_vector vector, int64_t *rows,
                       int64_t *cols) {
  if (rank != (vector == DM_NO_VECTOR ? 2 : 1)) return false;
  const hsize_t other = vector == DM_NO_VECTOR ? dims[1] : 1;
  *rows = (int64_t)(vector == DM_AS_ROW ? other : dims[0]);
  *cols = (int64_t)(vector == DM_AS_ROW ? dims[0] : other);
  return true;
}

static dm_status wrong_rank(const dm_location *at, int rank) {
  dm_status status =
      dm_fail_at(DM_E_INPUT, at, "has %d dimension%s; a matrix has 2", rank, rank == 1 ? "" : "s");
  return rank == 1 ? dm_hint(status, "--as-column or --as-row takes it as a matrix") : status;
}

dm_status dm_h5_shape(const dm_location *at, hid_t object, dm_vector *vector, int64_t *rows,
                      int64_t *cols) {
  hsize_t dims[2] = {0, 0};
  hid_t space = H5Dget_space(object);
  if (space < 0) return dm_h5_fail(DM_E_INPUT, at, "its shape cannot be read");
  H5S_class_t kind = H5Sget_simple_extent_type(space);
  int rank = kind == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  if (rank == 2) *vector = DM_NO_VECTOR;
  bool known = (rank == 1 || rank == 2) && H5Sget_simple_extent_dims(space, dims, NULL) == rank;
  H5Sclose(space);
  if (kind == H5S_SCALAR || kind == H5S_NULL)
    return dm_fail_at(DM_E_INPUT, at, "is a %s, not a matrix",
                      kind == H5S_SCALAR ? "single value" : "dataset without elements");
  if (known && (dims[0] > INT64_MAX || dims[1] > INT64_MAX))
    return dm_fail_at(DM_E_INPUT, at, "declares more elements than 64 bits can count");
  if (!known || !take_shape(rank, dims, *vector, rows, cols)) return wrong_rank(at, rank);
  if (*rows == 0 && *cols == 0)
    return dm_fail_at(DM_E_INPUT, at, "is empty: its shape is %lld x %lld", (long long)*rows,
                      (long long)*cols);
  return DM_OK;
}

bool dm_h5_chunk_shape(hid_t creation, dm_vector vector, int64_t *rows, int64_t *cols) {
  hsize_t dims[2] = {0, 0};
  const int rank = H5Pget_chunk(creation, 2, dims);
  return dims[0] <= INT64_MAX && dims[1] <= INT64_MAX &&
         take_shape(rank, dims, vector, rows, cols) && *rows > 0 && *cols > 0;
}

void dm_h5_place(const dm_dataset *dataset, int64_t row, int64_t col, hsize_t place[2]) {
  place[0] = (hsize_t)(dataset->vector == DM_AS_ROW ? col : row);
  place[1] = (hsize_t)(dataset->vector == DM_NO_VECTOR ? col : 0);
}

dm_status dm_h5_select(const dm_dataset *dataset, hid_t set, int64_t row, int64_t col, int64_t rows,
                       int64_t cols, hid_t *space) {
  hsize_t start[2], count[2];
  dm_h5_place(dataset, row, col, start);
  dm_h5_place(dataset, rows, cols, count);
  *space = H5Dget_space(set);
  if (*space >= 0 && H5Sselect_hyperslab(*space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0)
    return DM_OK;
  dm_status status = dm_h5_fail(DM_E_INPUT, &dataset->at, "a rectangle of it cannot be selected");
  if (*space >= 0) H5Sclose(*space);
  return status;
}

/* A summary of HDF5's error stack. */
typedef struct trace {
  char text[240]; /* message of the innermost function: the cause */
  bool locking;
  int number; /* errno of a failed system call, or 0 */
} trace;

static herr_t look(unsigned depth, const H5E_error2_t *error, void *data) {
  trace *seen = data;
  const char *text = error->desc ? error->desc : "";
  if (depth == 0) snprintf(seen->text, sizeof seen->text, "%s", text);
  /* HDF5 2 also locks chunks of its cache. */
  if (strstr(text, "unable to lock file") || strstr(text, "unable to lock the file"))
    seen->locking = true;
  const char *number = strstr(text, "errno = ");
  if (number && seen->number == 0) seen->number = atoi(number + strlen("errno = "));
  return 0;
}

static dm_code code_of(dm_code code, const trace *seen) {
  if (seen->locking) return DM_E_IO;
  switch (seen->number) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return DM_E_FIT;
  case EIO:
  case ESTALE:
  case EACCES:
  case EPERM:
  case ENOENT:
  case EROFS:
    return DM_E_IO;
  default:
    return code;
  }
}

dm_status dm_h5_status(dm_code code, const dm_location *at, const char *file, int line,
                       const char *function, const char *format, ...) {
  trace seen = {.text = "no reason given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look, &seen);
  H5Eclear2(H5E_DEFAULT);
  char message[240];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  dm_io_clean(seen.text);
  dm_status status = dm_status_new(code_of(code, &seen), file, line, function, "%s (HDF5: %s)",
                                   message, seen.text);
  if (seen.locking && (seen.number == EAGAIN || seen.number == EACCES))
    dm_hint(status, "another program has it open for writing: wait until it is closed");
  else if (seen.locking)
    dm_hint(status, "this file system has no locks; try HDF5_USE_FILE_LOCKING=FALSE");
  return dm_io_named(status, at);
}
