/* The commit of an output: attributes, sync, and the rename that gives the file its name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/hdf5_attribute.h"
#include "io/hdf5_use.h"
#include "io/output_file.h"
#include "io/output_tiles.h"

static dm_status write_attributes(const dm_output_file *file, hid_t set,
                                  const dm_attributes *provenance) {
  for (int i = 0; i < provenance->count; i++)
    DM_TRY(dm_h5_write_text(&file->at, set, provenance->list[i].name, provenance->list[i].text));
  return dm_h5_write_text(&file->at, set, DM_STATE, "complete");
}

/* Opens the part file with HDF5, and closes it so that everything is with the system. */
static dm_status complete(const dm_output_file *file, const dm_attributes *provenance,
                          const dm_tile_record *tiles, int64_t count) {
  DM_TRY(dm_h5_start(false));
  hid_t access = dm_h5_unlocked(), h5 = -1, set = -1;
  if (access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
    h5 = H5Fopen(file->part, H5F_ACC_RDWR, access);
  if (h5 >= 0) set = H5Dopen2(h5, file->at.dataset, H5P_DEFAULT);
  dm_status status = set < 0 ? dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be reopened", file->part)
                             : write_attributes(file, set, provenance);
  if (!status && count > 0) status = dm_output_write_tiles(&file->at, h5, tiles, count);
  if (!status && H5Fflush(h5, H5F_SCOPE_LOCAL) < 0)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be flushed", file->part);
  if (set >= 0 && H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  if (h5 >= 0 && H5Fclose(h5) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  if (access >= 0) H5Pclose(access);
  return status;
}

dm_status dm_output_sync_path(const dm_location *at, const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return dm_fail_at(DM_E_IO, at, "'%s' cannot be synced: %s", path, strerror(errno));
  /* Some file systems cannot sync a directory: that is not this file's fault. */
  bool bad = fsync(fd) < 0 && !((flags & O_DIRECTORY) && (errno == EINVAL || errno == ENOTSUP));
  dm_status status =
      bad ? dm_fail_at(DM_E_IO, at, "'%s' cannot be synced: %s", path, strerror(errno)) : DM_OK;
  close(fd);
  return status;
}

/* Where the kernel or the file system knows no rename that replaces nothing. */
static int rename_by_link(const char *from, const char *to) {
  if (link(from, to) == 0) return unlink(from);
  if (errno == EEXIST) return -1;
  struct stat info;
  if (lstat(to, &info) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(from, to);
}

static dm_status give_name(const dm_output_file *file, bool force) {
  const char *to = file->at.file;
  int failed = force ? rename(file->part, to)
                     : renameat2(AT_FDCWD, file->part, AT_FDCWD, to, RENAME_NOREPLACE);
  if (failed && !force && (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP))
    failed = rename_by_link(file->part, to);
  if (!failed) return DM_OK;
  if (errno == EEXIST)
    return dm_hint(dm_fail_at(DM_E_IO, &file->at, "the file appeared during the run"),
                   "the whole result is '%.200s'", file->part);
  return dm_fail_at(DM_E_IO, &file->at, "'%s' cannot be renamed: %s", file->part, strerror(errno));
}

dm_status dm_output_commit(const dm_output_file *file, const dm_attributes *provenance,
                           const dm_tile_record *tiles, int64_t count, bool force) {
  char directory[DM_PATH];
  DM_TRY(complete(file, provenance, tiles, count));
  DM_TRY(dm_output_sync_path(&file->at, file->part, O_RDWR | O_NOFOLLOW));
  DM_TRY(give_name(file, force));
  dm_output_directory(file->at.file, directory);
  return dm_output_sync_path(&file->at, directory, O_RDONLY | O_DIRECTORY);
}

void dm_output_discard(const dm_output_file *file) {
  if (file->part[0]) unlink(file->part);
}
