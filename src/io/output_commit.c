/* The commit of an output: attributes, sync, and the rename to its final name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "io/file_sync.h"
#include "io/hdf5_attribute.h"
#include "io/hdf5_use.h"
#include "io/output_file.h"
#include "io/output_tiles.h"

/* What turns the part file into a complete file. */
typedef struct completion {
  const dm_location *at;
  const dm_attributes *provenance;
  const dm_tile_record *tiles;
  int64_t count;
} completion;

static dm_status complete(void *context, hid_t file, hid_t set) {
  const completion *c = context;
  for (int i = 0; i < c->provenance->count; i++)
    DM_TRY(dm_h5_write_text(c->at, set, c->provenance->list[i].name, c->provenance->list[i].text));
  DM_TRY(dm_h5_write_text(c->at, set, DM_STATE, "complete"));
  return c->count > 0 ? dm_output_write_tiles(c->at, file, c->tiles, c->count) : DM_OK;
}

dm_status dm_output_edit(const dm_output_file *file, dm_output_work *work, void *context) {
  DM_TRY(dm_output_check_name(file, file->part));
  DM_TRY(dm_h5_start(false));
  char path[DM_DESCRIPTOR];
  hid_t access = dm_h5_unlocked(), h5 = -1, set = -1;
  if (access >= 0) h5 = H5Fopen(dm_output_by_descriptor(file->made, path), H5F_ACC_RDWR, access);
  if (h5 >= 0) set = H5Dopen2(h5, file->at.dataset, H5P_DEFAULT);
  dm_status status = set < 0 ? dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be reopened", file->part)
                             : work(context, h5, set);
  if (!status && H5Fflush(h5, H5F_SCOPE_LOCAL) < 0)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be flushed", file->part);
  if (set >= 0 && H5Dclose(set) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  if (h5 >= 0 && H5Fclose(h5) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, &file->at, "'%s' cannot be closed", file->part);
  if (access >= 0) H5Pclose(access);
  return status;
}

dm_status dm_output_sync_made(const dm_output_file *file, const dm_keepalive *keepalive) {
  errno = dm_file_sync(file->made, true, keepalive);
  return errno ? dm_output_failed(&file->at, file->part, "synced") : DM_OK;
}

dm_status dm_output_sync_path(const dm_location *at, const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return dm_output_failed(at, path, "synced");
  /* Some file systems cannot sync a directory; ignore that. */
  bool bad = fsync(fd) < 0 && !((flags & O_DIRECTORY) && (errno == EINVAL || errno == ENOTSUP));
  dm_status status = bad ? dm_output_failed(at, path, "synced") : DM_OK;
  close(fd);
  return status;
}

dm_status dm_output_sync_name(const dm_location *at) {
  char directory[DM_PATH];
  dm_output_directory(at->file, directory);
  return dm_output_sync_path(at, directory, O_RDONLY | O_DIRECTORY);
}

/* Compares SET, as a program would read it, with what was written. */
static dm_status compare(const completion *c, hid_t set) {
  dm_attributes *found;
  DM_TRY(dm_buffer_table(1, &found));
  dm_status status = dm_h5_read_attributes(c->at, set, found);
  bool same = dm_h5_is_whole(set);
  for (int i = 0; i < c->provenance->count && !status && same; i++) {
    dm_attribute wanted = c->provenance->list[i];
    dm_io_clean(wanted.text);
    const char *text = dm_attributes_find(found, wanted.name);
    same = strcmp(text ? text : "", wanted.text) == 0;
  }
  free(found);
  if (status || same) return status;
  return dm_fail_at(DM_E_IO, c->at, "its provenance differs from what was written");
}

/* HDF5's metadata has no checksum, so it is read back before the file gets its name. */
static dm_status look_again(const dm_output_file *file, const completion *c) {
  char path[DM_DESCRIPTOR];
  hid_t access = dm_h5_unlocked(), h5 = -1, set = -1;
  if (access >= 0) h5 = H5Fopen(dm_output_by_descriptor(file->made, path), H5F_ACC_RDONLY, access);
  if (h5 >= 0) set = H5Dopen2(h5, file->at.dataset, H5P_DEFAULT);
  dm_status status = set < 0 ? dm_h5_fail(DM_E_IO, c->at, "'%s' cannot be read again", file->part)
                             : compare(c, set);
  if (set >= 0) H5Dclose(set);
  if (h5 >= 0) H5Fclose(h5);
  if (access >= 0) H5Pclose(access);
  return status;
}

/* For kernels or file systems without a rename that never replaces. */
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
                   "the complete result is '%.200s'", file->part);
  return dm_output_failed(&file->at, file->part, "renamed");
}

dm_status dm_output_commit(const dm_output_file *file, const dm_attributes *provenance,
                           const dm_tile_record *tiles, int64_t count, bool force,
                           const dm_keepalive *keepalive, bool *named) {
  *named = false;
  completion c = {&file->at, provenance, tiles, count};
  if (provenance) DM_TRY(dm_output_edit(file, complete, &c));
  DM_TRY(dm_output_sync_made(file, keepalive));
  if (provenance) DM_TRY(look_again(file, &c));
  DM_TRY(dm_output_check_name(file, file->part));
  DM_TRY(give_name(file, force));
  DM_TRY(dm_output_check_name(file, file->at.file)); /* another run may have taken the name */
  *named = true;
  return dm_hint(dm_output_sync_name(&file->at),
                 "%.200s is complete; a crash of the computer could still lose its name",
                 file->at.file);
}
