#include "dataset/hdf5_use.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"

enum { HDF5_USE_ROOM = 16 << 20 };

/* The library's state belongs to the process, and so does its lock. */
static pthread_mutex_t hdf5_in_use = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int entered;

/* ---- forks, by this or any other part of the program, in any of its threads ----
 *
 * The new process has only that thread: it would wait for ever for a lock of another one. So the
 * fork waits until no thread is in HDF5, which is in order in both processes then. The handler
 * alone takes the lock, not the one who forks: handlers may run under a lock of the C library. */

static pthread_once_t watched = PTHREAD_ONCE_INIT;

static void await_fork(void) {
  if (entered == 0) pthread_mutex_lock(&hdf5_in_use);
}

static void pass_fork(void) {
  if (entered == 0) pthread_mutex_unlock(&hdf5_in_use);
}

/* Without memory for it forks do not wait. */
static void watch_forks(void) {
  (void)pthread_atfork(await_fork, pass_fork, pass_fork);
}

pid_t dm_h5_fork(void) {
  (void)pthread_once(&watched, watch_forks);
  return fork();
}

int dm_h5_enter(void) {
  (void)pthread_once(&watched, watch_forks);
  if (entered == 0) pthread_mutex_lock(&hdf5_in_use);
  return ++entered;
}

void dm_h5_leave(const int *number) {
  entered = *number - 1;
  if (entered == 0) pthread_mutex_unlock(&hdf5_in_use);
}

dm_status dm_h5_start(bool plugins) {
  DM_TRY(dm_memory_room(HDF5_USE_ROOM, "the HDF5 library")); /* it would crash */
  /* Read when the library starts; each can load a shared object. HDF5_PLUGIN_PATH stays, for files
   * read with plug-ins later: the library reads it once, and loads nothing with plug-ins disabled
   * as below. */
  static const char *const unwanted[] = {"HDF5_VOL_CONNECTOR", "HDF5_DRIVER"};
  for (int i = 0; i < 2; i++)
    if (getenv(unwanted[i])) unsetenv(unwanted[i]);
  /* Locking is the default for files that are read. Where the variable asks for it, HDF5 would lock
   * also what is written, which has a lock of the run already. */
  const char *locking = getenv("HDF5_USE_FILE_LOCKING");
  if (locking && strcmp(locking, "FALSE") != 0 && strcmp(locking, "0") != 0)
    unsetenv("HDF5_USE_FILE_LOCKING");
  /* After a file that could not be closed, the library's exit handler would crash (1.10.8). Fails
   * when called again. */
  (void)H5dont_atexit();
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 ||
      H5PLset_loading_state(plugins ? H5PL_FILTER_PLUGIN : 0) < 0)
    return dm_fail(DM_E_IO, "the HDF5 library does not start");
  return DM_OK;
}

dm_status dm_h5_open_as(const dm_location *at, const dm_h5_opening *how, hid_t *file) {
  DM_H5_HELD hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  *file = -1;
  dm_status status = DM_OK;
  /* Objects that an error left open must not keep the file open. */
  if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
      (!how->sparse || H5Pset_sieve_buf_size(access, 1) >= 0) &&
      (how->driver == 0 || H5Pset_driver(access, how->driver, how->settings) >= 0))
    *file = H5Fopen(at->file, H5F_ACC_RDONLY, access);
  if (*file < 0) status = dm_h5_fail(DM_E_INPUT, at, "cannot be opened as an HDF5 file");
  /* h5py in the same process has it open with the weak degree. */
  if (status && strstr(status->message, "close degree") &&
      H5Pset_fclose_degree(access, H5F_CLOSE_WEAK) >= 0)
    *file = H5Fopen(at->file, H5F_ACC_RDONLY, access);
  if (status && *file >= 0) {
    dm_status_free(status);
    status = DM_OK;
  }
  if (status && strstr(status->message, "truncated file"))
    dm_hint(status, "it was cut off, or its writer did not close it: copy or write it again");
  /* Only files that are being written can be opened for SWMR in any case. */
  if (status && how->swmr && access >= 0) {
    *file = H5Fopen(at->file, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
    if (*file >= 0) dm_status_free(status);
    if (*file >= 0) status = DM_OK;
  }
  return status;
}

dm_status dm_h5_open_file(const dm_location *at, hid_t *file) {
  return dm_h5_open_as(at, &(dm_h5_opening){.swmr = false}, file);
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

dm_status dm_h5_extents(const dm_location *at, hid_t object, dm_axes *axes) {
  hsize_t dims[H5S_MAX_RANK];
  *axes = (dm_axes){0};
  DM_H5_HELD hid_t space = H5Dget_space(object);
  if (space < 0) return dm_h5_fail(DM_E_INPUT, at, "its shape cannot be read");
  H5S_class_t kind = H5Sget_simple_extent_type(space);
  const int rank = kind == H5S_SIMPLE ? H5Sget_simple_extent_dims(space, dims, NULL) : 0;
  if (kind == H5S_SCALAR || kind == H5S_NULL)
    return dm_fail_at(DM_E_INPUT, at, "is a %s, not a matrix",
                      kind == H5S_SCALAR ? "single value" : "dataset without elements");
  if (rank < 1) return dm_h5_fail(DM_E_INPUT, at, "its shape cannot be read");
  if (rank > DM_AXES)
    return dm_fail_at(DM_E_INPUT, at, "has %d dimensions; at most %d are read", rank, DM_AXES);
  axes->count = rank;
  for (int i = 0; i < rank; i++) {
    if (dims[i] > INT64_MAX)
      return dm_fail_at(DM_E_INPUT, at, "declares more elements than 64 bits can count");
    axes->extent[i] = (int64_t)dims[i];
  }
  return DM_OK;
}

bool dm_h5_chunk_shape(hid_t creation, dm_axes *axes) {
  hsize_t dims[DM_AXES] = {0};
  if (H5Pget_chunk(creation, DM_AXES, dims) != axes->count) return false;
  for (int i = 0; i < axes->count; i++) {
    if (dims[i] == 0 || dims[i] > INT64_MAX) return false;
    axes->chunk[i] = (int64_t)dims[i];
  }
  return true;
}

void dm_h5_place(const dm_dataset *dataset, int64_t row, int64_t col, hsize_t place[DM_AXES]) {
  const dm_axes axes = dm_dataset_axes(dataset);
  int64_t at[DM_AXES];
  dm_side_place(dm_axes_side(&axes, 0), row, at);
  dm_side_place(dm_axes_side(&axes, 1), col, at + axes.of_rows);
  for (int i = 0; i < axes.count; i++) place[i] = (hsize_t)at[i];
}

dm_status dm_h5_select(const dm_dataset *dataset, hid_t set, const dm_box *box, hid_t *space) {
  *space = H5Dget_space(set);
  if (*space >= 0 &&
      H5Sselect_hyperslab(*space, H5S_SELECT_SET, box->start, box->step, box->count, NULL) >= 0)
    return DM_OK;
  return dm_h5_fail(DM_E_INPUT, &dataset->at, "a rectangle of it cannot be selected");
}

/* A summary of HDF5's error stack. */
typedef struct trace {
  char text[240]; /* message of the innermost function: the cause */
  bool locking;
  bool marked; /* the file says that a program has it open for writing */
  bool newer;  /* it, or a part of it, is in a format that this HDF5 does not know */
  int number;  /* errno of a failed system call, or 0 */
} trace;

static bool has_any(const char *text, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (strstr(text, words[i])) return true;
  return false;
}

/* "bad version number for layout message" */
static bool is_about_version(const char *text) {
  static const char *const wrong[] = {"bad", "wrong", "unknown", "unsupported", "incorrect", NULL};
  static const char *const kinds[] = {"unknown chunk index", "unsupported chunk index",
                                      "unknown message", "unknown layout class", NULL};
  return (strstr(text, "version") && has_any(text, wrong)) || has_any(text, kinds);
}

static herr_t note_error(unsigned depth, const H5E_error2_t *error, void *data) {
  static const char *const writing[] = {"already open for", "not already open for SWMR",
                                        "consistency flags", NULL};
  trace *seen = data;
  const char *text = error->desc ? error->desc : "";
  if (depth == 0) snprintf(seen->text, sizeof seen->text, "%s", text);
  if (depth == 0) seen->newer = is_about_version(text);
  if (has_any(text, writing)) seen->marked = true;
  /* HDF5 2 also locks chunks of its cache. */
  if (strstr(text, "unable to lock file") || strstr(text, "unable to lock the file"))
    seen->locking = true;
  const char *number = strstr(text, "errno = ");
  if (number && seen->number == 0) seen->number = atoi(number + strlen("errno = "));
  return 0;
}

bool dm_h5_failed_on_newer_format(void) {
  trace seen = {.text = ""};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_error, &seen);
  return seen.newer;
}

static dm_code code_of(dm_code code, const trace *seen) {
  if (seen->locking || seen->marked) return DM_E_IO;
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

static bool is_locked(const trace *seen) {
  return seen->locking && (seen->number == EAGAIN || seen->number == EACCES);
}

static dm_status hint_at_newer(dm_status status, unsigned minor) {
  /* Names of versions in h5py, and their numbers in h5repack. */
  const int bound = minor >= 14 ? 4 : minor >= 12 ? 3 : 2;
  return dm_hint(
      status,
      "write it again in an older format: in h5py with File(NAME, 'w', libver=('earliest', "
      "'v1%d')) and NumPy's complex types; or, where the newer HDF5 is installed, 'h5repack "
      "--low=0 --high=%d IN OUT'",
      bound == 4   ? 14
      : bound == 3 ? 12
                   : 10,
      bound);
}

static dm_status hint_at_writer(dm_status status, const trace *seen) {
  if (seen->marked)
    return dm_hint(status,
                   "wait until it is closed; --swmr reads what a writer in SWMR mode has flushed; "
                   "if the writer crashed, 'h5clear -s FILE' removes its mark");
  if (is_locked(seen))
    return dm_hint(status,
                   "wait until it is closed; --swmr reads it once its writer is in SWMR mode");
  return dm_hint(status, "this file system has no locks; try HDF5_USE_FILE_LOCKING=FALSE");
}

dm_status dm_h5_status(dm_code code, const dm_location *at, const char *file, int line,
                       const char *function, const char *format, ...) {
  trace seen = {.text = "no reason given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_error, &seen);
  H5Eclear2(H5E_DEFAULT);
  char message[240], newer[120] = "";
  unsigned major = 0, minor = 0, release = 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  dm_text_clean(seen.text);
  H5get_libversion(&major, &minor, &release);
  if (seen.marked)
    snprintf(message, sizeof message, "is in use: it is marked as open for writing");
  else if (is_locked(&seen))
    snprintf(message, sizeof message, "is in use: another program has it open");
  else if (seen.newer) {
    message[strcspn(message, ":")] = '\0'; /* what follows is not the reason */
    snprintf(newer, sizeof newer, ": it was written by a newer HDF5 than %u.%u.%u, or is damaged",
             major, minor, release);
  }
  dm_status status = dm_status_new(code_of(code, &seen), file, line, function, "%s%s (HDF5: %s)",
                                   message, newer, seen.text);
  if (seen.locking || seen.marked)
    hint_at_writer(status, &seen);
  else if (seen.newer)
    hint_at_newer(status, major > 1 ? 14 : minor);
  return dm_file_named(status, at);
}

int dm_h5_dims(const dm_leads *leads, int64_t each, int64_t rows, int64_t cols, hsize_t *dims) {
  int rank = 0;
  for (; rank < leads->count; rank++) dims[rank] = (hsize_t)(each > 0 ? each : leads->extent[rank]);
  if (leads->vector != DM_AS_ROW) dims[rank++] = (hsize_t)rows;
  if (leads->vector != DM_AS_COLUMN) dims[rank++] = (hsize_t)cols;
  return rank;
}
