#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/checked.h"
#include "io/hdf5_attribute.h"
#include "io/hdf5_type.h"
#include "io/hdf5_use.h"
#include "io/output_file.h"

enum { HEAD_BYTES = 1 << 20, ALIGN_FROM = 1 << 16, ALIGNMENT = 4096 };

/* Contiguous: the dataset has its space at once and is not filled.  In chunks: all will be written.
 */
static bool set_layout(hid_t creation, const dm_output_form *form) {
  if (H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) < 0) return false;
  if (!form)
    return H5Pset_layout(creation, H5D_CONTIGUOUS) >= 0 &&
           H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0;
  const hsize_t chunk[2] = {(hsize_t)form->chunk_rows, (hsize_t)form->chunk_cols};
  return H5Pset_chunk(creation, 2, chunk) >= 0 &&
         (!form->shuffle || H5Pset_shuffle(creation) >= 0) &&
         (form->deflate == 0 || H5Pset_deflate(creation, (unsigned)form->deflate) >= 0);
}

static hid_t create_dataset(hid_t file, const dm_output_file *out, const dm_output_form *form) {
  hsize_t dims[2] = {(hsize_t)out->rows, (hsize_t)out->cols};
  hid_t set = -1, space = H5Screate_simple(2, dims, NULL), type = dm_h5_make_type(out->dtype);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
  if (space >= 0 && type >= 0 && creation >= 0 && links >= 0 && set_layout(creation, form) &&
      H5Pset_create_intermediate_group(links, 1) >= 0)
    set = H5Dcreate2(file, out->at.dataset, type, space, links, creation, H5P_DEFAULT);
  if (links >= 0) H5Pclose(links);
  if (creation >= 0) H5Pclose(creation);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  return set;
}

static dm_status fill_file(hid_t file, dm_output_file *out, const dm_output_form *form) {
  hid_t set = create_dataset(file, out, form);
  if (set < 0) return dm_h5_fail(DM_E_IO, &out->at, "the dataset cannot be created");
  dm_status status = dm_h5_write_text(&out->at, set, DM_STATE, "incomplete");
  if (!status && out->dtype == DM_BF16)
    status = dm_h5_write_text(&out->at, set, "dtype", "bfloat16");
  haddr_t offset = form ? 0 : H5Dget_offset(set);
  if (!status && offset > INT64_MAX)
    status = dm_h5_fail(DM_E_IO, &out->at, "the dataset was created without space");
  out->offset = (int64_t)offset;
  if (H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &out->at, "the dataset cannot be closed");
  return status;
}

dm_status dm_output_structure(dm_output_file *out, const char *path, const dm_output_form *form) {
  DM_TRY(dm_h5_start(false));
  hid_t access = dm_h5_unlocked(), file = -1;
  if (access >= 0 && H5Pset_alignment(access, ALIGN_FROM, ALIGNMENT) >= 0 &&
      H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  dm_status status = file < 0 ? dm_h5_fail(DM_E_IO, &out->at, "'%s' cannot be created", path)
                              : fill_file(file, out, form);
  if (file >= 0 && H5Fclose(file) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &out->at, "'%s' cannot be closed", path);
  if (access >= 0) H5Pclose(access);
  return status;
}

/* So that a full disk shows now and not after hours. */
dm_status dm_output_reserve(const dm_output_file *out, int fd, int64_t bytes) {
  int failed;
  do failed = fallocate(fd, 0, 0, (off_t)bytes) < 0 ? errno : 0;
  while (failed == EINTR);
  switch (failed) {
  case 0:
    return DM_OK;
  case EOPNOTSUPP:
  case ENOSYS:
  case EINVAL:
    return DM_OK; /* cannot be asked; statvfs was */
  case ENOSPC:
  case EDQUOT: {
    char directory[DM_PATH];
    dm_output_directory(out->at.file, directory);
    dm_status status = dm_output_room(&out->at, directory, bytes);
    return status ? status
                  : dm_fail_at(DM_E_FIT, &out->at, "no space for %lld bytes: %s", (long long)bytes,
                               strerror(failed));
  }
  case EFBIG:
    return dm_hint(
        dm_fail_at(DM_E_FIT, &out->at, "no file may have %lld bytes here", (long long)bytes),
        "see ulimit -f and the limits of the file system");
  default:
    return dm_fail_at(DM_E_IO, &out->at, "space cannot be reserved: %s", strerror(failed));
  }
}

static dm_status create_locked(dm_output_file *out, int fd, int64_t bytes) {
  if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    return dm_fail_at(DM_E_IO, &out->at, "another run is writing '%s'", out->part);
  DM_TRY(dm_output_structure(out, out->part, NULL));
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_fail_at(DM_E_IO, &out->at, "fstat: %s", strerror(errno));
  /* Longer than HDF5 made it would be, for HDF5, a damaged file. */
  if ((int64_t)info.st_size < out->offset + bytes)
    return dm_fail_at(DM_E_IO, &out->at, "'%s' is too short after its creation", out->part);
  DM_TRY(dm_output_reserve(out, fd, (int64_t)info.st_size));
  if (fsync(fd) < 0) return dm_fail_at(DM_E_IO, &out->at, "fsync: %s", strerror(errno));
  return DM_OK;
}

dm_status dm_output_create(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           bool force, dm_output_file *file) {
  char directory[DM_PATH];
  int64_t bytes = 0;
  *file = (dm_output_file){.at = *location, .rows = rows, .cols = cols, .dtype = dtype};
  DM_TRY(dm_bytes_of(rows, cols, dm_dtype_size(dtype), &bytes));
  if (bytes <= 0 || bytes > INT64_MAX - HEAD_BYTES)
    return dm_fail_at(DM_E_FIT, location, "a matrix of %lld bytes cannot be written",
                      (long long)bytes);
  DM_TRY(dm_output_part_name(location, file->part));
  DM_TRY(dm_output_leftover(location, file->part, force, true));
  dm_output_directory(location->file, directory);
  DM_TRY(dm_output_room(location, directory, bytes + HEAD_BYTES / 64));
  int fd = open(file->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0)
    return dm_fail_at(DM_E_IO, location, "'%s' cannot be created: %s", file->part, strerror(errno));
  dm_status status = create_locked(file, fd, bytes);
  if (status) unlink(file->part);
  close(fd);
  return status;
}
