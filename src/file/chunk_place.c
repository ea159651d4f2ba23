#include "file/chunk_place.h"

#include <stdlib.h>

#include "file/hdf5_use.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* The file as held by HDF5: its own driver, and the observer. */
typedef struct listener {
  H5FD_t driver; /* HDF5's part, first */
  H5FD_t *inner;
  dm_chunk_ear ear;
} listener;

static H5FD_t *inner_of(const H5FD_t *file) {
  return ((const listener *)file)->inner;
}

static H5FD_t *open_listener(const char *name, unsigned flags, hid_t access, haddr_t most) {
  (void)access;
  if (flags & H5F_ACC_RDWR) return NULL;
  listener *new = calloc(1, sizeof *new);
  if (!new) return NULL;
  void *handle = NULL;
  new->inner = H5FDopen(name, flags, H5P_FILE_ACCESS_DEFAULT, most);
  if (new->inner && H5FDget_vfd_handle(new->inner, H5P_DEFAULT, &handle) >= 0 && handle) {
    new->ear.fd = *(int *)handle;
    return &new->driver;
  }
  if (new->inner) H5FDclose(new->inner);
  free(new);
  return NULL;
}

static herr_t close_listener(H5FD_t *file) {
  herr_t result = H5FDclose(inner_of(file));
  free(file);
  return result;
}

static herr_t query(const H5FD_t *file, unsigned long *flags) {
  if (file) return H5FDquery(inner_of(file), flags) < 0 ? -1 : 0;
  *flags = H5FD_FEAT_POSIX_COMPAT_HANDLE;
  return 0;
}

static haddr_t get_end_allocated(const H5FD_t *file, H5FD_mem_t type) {
  return H5FDget_eoa(inner_of(file), type);
}

static herr_t set_end_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t end) {
  return H5FDset_eoa(inner_of(file), type, end);
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t type) {
  return H5FDget_eof(inner_of(file), type);
}

static herr_t get_handle(H5FD_t *file, hid_t access, void **handle) {
  (void)access;
  *handle = &((listener *)file)->ear;
  return 0;
}

static herr_t read_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                         void *buffer) {
  dm_chunk_ear *ear = &((listener *)file)->ear;
  if (!ear->listening || type != H5FD_MEM_DRAW)
    return H5FDread(inner_of(file), type, transfer, at, size, buffer);
  if (ear->heard || at > INT64_MAX || size > INT64_MAX) return -1;
  ear->heard = true;
  ear->offset = (int64_t)at;
  ear->bytes = (int64_t)size;
  return 0;
}

static herr_t write_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                          const void *buffer) {
  (void)file, (void)type, (void)transfer, (void)at, (void)size, (void)buffer;
  return -1;
}

static herr_t lock_file(H5FD_t *file, hbool_t writing) {
  return H5FDlock(inner_of(file), writing);
}

static herr_t unlock_file(H5FD_t *file) {
  return H5FDunlock(inner_of(file));
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)400, /* from the range for private use */
#endif
    .name = "damier_chunk_place",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_listener,
    .close = close_listener,
    .query = query,
    .get_eoa = get_end_allocated,
    .set_eoa = set_end_allocated,
    .get_eof = get_end,
    .get_handle = get_handle,
    .read = read_bytes,
    .write = write_bytes,
    .lock = lock_file,
    .unlock = unlock_file,
    .fl_map = H5FD_FLMAP_SINGLE,
};

dm_status dm_chunk_open_file(const dm_location *at, bool swmr, hid_t *file, dm_chunk_ear **ear) {
  void *handle = NULL;
  hid_t id = H5FDregister(&driver);
  dm_status status = dm_h5_open_as(at, id, swmr, file);
  if (!status && (H5Fget_vfd_handle(*file, H5P_DEFAULT, &handle) < 0 || !handle))
    status = dm_h5_fail(DM_E_IO, at, "the open file cannot be identified");
  *ear = handle;
  if (handle)
    (*ear)->driver = id;
  else if (id >= 0)
    H5FDunregister(id);
  return status;
}

/* HDF5 1.10 releases a file's driver before calling it to close the file: the file must not hold
 * the last reference to the driver. */
void dm_chunk_close_file(hid_t file, const dm_chunk_ear *ear) {
  const hid_t driver_id = ear ? ear->driver : -1;
  H5Fclose(file);
  if (driver_id >= 0) H5FDunregister(driver_id);
}

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

dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_chunk_ear *ear,
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
  if (!ear) return DM_OK;
  /* Nothing is read: the driver only observes the request. */
  ear->listening = true;
  ear->heard = false;
  herr_t result = H5Dread_chunk(set, H5P_DEFAULT, offset, &place->skipped, nothing);
  ear->listening = false;
  if (result < 0 || !ear->heard || (hsize_t)ear->bytes != stored)
    return dm_h5_fail(DM_E_INPUT, at, "the chunk at (%lld, %lld) cannot be found",
                      (long long)place->row, (long long)place->col);
  place->offset = ear->offset;
  return DM_OK;
}
