#include "dataset/hdf5_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "dataset/hdf5_use.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* What H5Pset_driver passes on to the driver. */
typedef struct settings {
  dm_h5_log *log;
  const dm_location *at;
  const dm_members *members; /* NULL: the driver opens one file */
} settings;

/* The file as held by HDF5: its own driver, and the observer. */
typedef struct observed_file {
  H5FD_t driver; /* HDF5's part, first */
  H5FD_t *inner; /* NULL: it is FILES */
  dm_member_files *files;
  haddr_t end; /* of what HDF5 may address */
  dm_h5_observer observer;
} observed_file;

static H5FD_t *hdf5_driver_inner_of(const H5FD_t *file) {
  return ((const observed_file *)file)->inner;
}

/* Opens the files of SET. */
static H5FD_t *hdf5_driver_open_members(const settings *set) {
  observed_file *new = calloc(1, sizeof *new);
  dm_status status = new ? dm_members_open(set->at, set->members, &new->files) : DM_OK;
  const bool good = new && !status;
  dm_status_free(status); /* who needs the reason opens them again */
  if (!good) {
    free(new);
    return NULL;
  }
  new->observer = (dm_h5_observer){.fd = dm_members_data(new->files),
                                   .log = set->log,
                                   .members = new->files,
                                   .start = set->members->start};
  if (set->log) set->log->lost = true; /* it is about one file */
  return &new->driver;
}

static H5FD_t *hdf5_driver_open_observed(const char *name, unsigned flags, hid_t access,
                                         haddr_t most) {
  const settings *set = H5Pget_driver_info(access);
  if (flags & H5F_ACC_RDWR) return NULL;
  if (set && set->members) return hdf5_driver_open_members(set);
  observed_file *new = calloc(1, sizeof *new);
  if (!new) return NULL;
  void *handle = NULL;
  new->observer.log = set ? set->log : NULL;
  new->inner = H5FDopen(name, flags, H5P_FILE_ACCESS_DEFAULT, most);
  if (new->inner && H5FDget_vfd_handle(new->inner, H5P_DEFAULT, &handle) >= 0 && handle) {
    new->observer.fd = *(int *)handle;
    return &new->driver;
  }
  if (new->inner) H5FDclose(new->inner);
  free(new);
  return NULL;
}

/* Closing clears HDF5's error stack, which may say why the file could not be opened. */
static herr_t close_observed(H5FD_t *file) {
  const hid_t errors = H5Eget_current_stack();
  H5FD_t *inner = hdf5_driver_inner_of(file);
  herr_t result = inner ? H5FDclose(inner) : 0;
  dm_members_close(((observed_file *)file)->files);
  if (errors >= 0) H5Eset_current_stack(errors);
  free(file);
  return result;
}

static herr_t hdf5_driver_query(const H5FD_t *file, unsigned long *flags) {
  if (file && hdf5_driver_inner_of(file))
    return H5FDquery(hdf5_driver_inner_of(file), flags) < 0 ? -1 : 0;
  *flags = file ? 0 : H5FD_FEAT_POSIX_COMPAT_HANDLE;
  return 0;
}

static haddr_t get_end_allocated(const H5FD_t *file, H5FD_mem_t type) {
  const observed_file *of = (const observed_file *)file;
  if (of->inner) return H5FDget_eoa(of->inner, type);
  /* Elements of split files are beyond what HDF5 sets. */
  return of->observer.start > 0 ? dm_members_end(of->files) : of->end;
}

static herr_t set_end_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
  observed_file *of = (observed_file *)file;
  if (of->inner) return H5FDset_eoa(of->inner, type, end);
  of->end = end;
  return 0;
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t type) {
  const observed_file *of = (const observed_file *)file;
  return of->inner ? H5FDget_eof(of->inner, type) : dm_members_end(of->files);
}

static herr_t get_handle(H5FD_t *file, hid_t access, void **handle) {
  (void)access;
  *handle = &((observed_file *)file)->observer;
  return 0;
}

/* Skips elements. Their place identifies them: HDF5 also gives some metadata the memory type of
 * elements. */
static void add_to_log(dm_h5_log *log, int64_t at, int64_t bytes, const void *content) {
  const int64_t before = at - log->elements;
  if (before >= 0 && bytes <= log->elements_bytes - before) return;
  log->lost |= log->count == DM_H5_PIECES || bytes > DM_H5_LOGGED - log->bytes;
  if (log->lost) return;
  log->piece[log->count].offset = at;
  log->piece[log->count++].bytes = bytes;
  memcpy(log->content + log->bytes, content, (size_t)bytes);
  log->bytes += bytes;
}

static herr_t hdf5_driver_read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at,
                                     size_t size, void *buffer) {
  dm_h5_observer *observer = &((observed_file *)file)->observer;
  const dm_member_files *files = ((observed_file *)file)->files;
  if ((at > INT64_MAX && !files) || size > INT64_MAX) return -1;
  if (files && (!observer->intercepts || type != H5FD_MEM_DRAW))
    return dm_members_read(files, buffer, (int64_t)size, at) ? 0 : -1;
  if (!observer->intercepts || type != H5FD_MEM_DRAW) {
    const herr_t result = H5FDread(hdf5_driver_inner_of(file), type, transfer, at, size, buffer);
    if (observer->log && result >= 0) add_to_log(observer->log, (int64_t)at, (int64_t)size, buffer);
    return result;
  }
  if (observer->intercepted) return -1;
  observer->intercepted = true;
  if (at < observer->start || at - observer->start > INT64_MAX) return -1;
  observer->offset = (int64_t)(at - observer->start);
  observer->bytes = (int64_t)size;
  return 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                          const void *buffer) {
  (void)file, (void)type, (void)transfer, (void)at, (void)size, (void)buffer;
  return -1;
}

static herr_t lock_file(H5FD_t *file, hbool_t writing) {
  const observed_file *of = (observed_file *)file;
  if (of->inner) return H5FDlock(of->inner, writing);
  return flock(of->observer.fd, LOCK_SH | LOCK_NB) == 0 || errno == ENOSYS ? 0 : -1;
}

static herr_t unlock_file(H5FD_t *file) {
  const observed_file *of = (observed_file *)file;
  if (of->inner) return H5FDunlock(of->inner);
  return flock(of->observer.fd, LOCK_UN) == 0 || errno == ENOSYS ? 0 : -1;
}

/* HDF5 accepts what it wrote as several files only from drivers of these names. */
static const char *const hdf5_driver_names[] = {[DM_MEMBERS_NONE] = "damier_observer",
                                                [DM_MEMBERS_FAMILY] = "family",
                                                [DM_MEMBERS_SPLIT] = "multi"};

static hid_t hdf5_driver_register(dm_members_kind kind) {
  const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)(400 + (int)kind), /* from the range for private use */
#endif
    .name = hdf5_driver_names[kind],
    .maxaddr = kind == DM_MEMBERS_SPLIT ? HADDR_MAX : INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(settings),
    .open = hdf5_driver_open_observed,
    .close = close_observed,
    .query = hdf5_driver_query,
    .get_eoa = get_end_allocated,
    .set_eoa = set_end_allocated,
    .get_eof = get_end,
    .get_handle = get_handle,
    .read = hdf5_driver_read_bytes,
    .write = write_bytes,
    .lock = lock_file,
    .unlock = unlock_file,
    .fl_map = H5FD_FLMAP_SINGLE,
  };
  return H5FDregister(&driver); /* it copies the table */
}

static dm_status hdf5_driver_open_with(const dm_location *at, bool swmr, bool sparse,
                                       const settings *set, hid_t *file,
                                       dm_h5_observer **observer) {
  void *handle = NULL;
  const hid_t id = hdf5_driver_register(set->members ? set->members->kind : DM_MEMBERS_NONE);
  dm_status status = dm_h5_open_as(
      at, &(dm_h5_opening){.driver = id, .settings = set, .swmr = swmr, .sparse = sparse}, file);
  if (!status && (H5Fget_vfd_handle(*file, H5P_DEFAULT, &handle) < 0 || !handle))
    status = dm_h5_fail(DM_E_IO, at, "the open file cannot be identified");
  *observer = handle;
  if (handle)
    (*observer)->driver = id;
  else if (id >= 0)
    H5FDunregister(id);
  return status;
}

dm_status dm_h5_open_observed(const dm_location *at, const dm_h5_observed *how, hid_t *file,
                              dm_h5_observer **observer) {
  const settings one = {.log = how->log};
  if (!how->members) return hdf5_driver_open_with(at, how->swmr, how->sparse, &one, file, observer);
  dm_members members;
  dm_member_files *files = NULL;
  *file = -1;
  *observer = NULL;
  if (!dm_members_find(at->file, &members))
    return dm_fail_at(DM_E_IO, at, "is no longer one of several files");
  DM_TRY(dm_members_open(at, &members, &files)); /* HDF5 would not say what is wrong with one */
  dm_members_close(files);
  const settings all = {how->log, at, &members};
  return hdf5_driver_open_with(at, false, how->sparse, &all, file, observer);
}

int64_t dm_h5_offset(const dm_dataset *dataset, hid_t set, haddr_t address) {
  void *handle = NULL;
  uint64_t start = 0;
  if (dataset->members) {
    DM_H5_HELD const hid_t file = H5Iget_file_id(set);
    if (file < 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || !handle) return -1;
    start = ((const dm_h5_observer *)handle)->start;
  }
  return address < start || address - start > INT64_MAX ? -1 : (int64_t)(address - start);
}

/* HDF5 1.10 releases a file's driver before calling it to close the file: the file must not hold
 * the last reference to the driver. */
void dm_h5_close_observed(hid_t file, const dm_h5_observer *observer) {
  const hid_t driver_id = observer ? observer->driver : -1;
  H5Fclose(file);
  if (driver_id >= 0) H5FDunregister(driver_id);
}
