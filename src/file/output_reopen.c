#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "file/output_file.h"

static dm_status failed(const dm_output_file *file, const char *what) {
  return dm_output_failed(&file->at, file->part, what);
}

static dm_status restore_structure(dm_output_file *file, int64_t offset) {
  int model;
  int64_t length;
  DM_TRY(dm_output_model(file, NULL, &model));
  dm_status status = DM_OK;
  if (file->offset != offset)
    status = dm_hint(
        dm_fail_at(DM_E_IO, &file->at, "this HDF5 library would place its data at another offset"),
        "resume with the library of the first run, or start over with --force");
  if (!status) status = dm_output_copy_model(file, model, file->made, &length);
  close(model);
  DM_TRY(status);
  DM_TRY(dm_output_reserve(file, length));
  return fsync(file->made) < 0 ? failed(file, "synced") : DM_OK;
}

/* Checks that the file belongs to the run that wrote the journal, not to another one that took its
 * name. */
static dm_status check_id(const dm_output_file *file) {
  bool found;
  DM_TRY(dm_output_look_for(&file->at, file->part, file->made, file->id, &found));
  if (found) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_IO, &file->at, "'%s' is not the file that its journal describes", file->part),
      "start over with --force, or name another output");
}

static dm_status take_up(dm_output_file *file, int64_t offset) {
  struct stat info;
  if (fstat(file->made, &info) < 0 || !S_ISREG(info.st_mode))
    return dm_fail_at(DM_E_IO, &file->at, "'%s' is not a file", file->part);
  DM_TRY(dm_output_lock(&file->at, file->part, file->made, LOCK_EX));
  DM_TRY(check_id(file));
  DM_TRY(restore_structure(file, offset));
  DM_TRY(dm_output_name_again(file));
  return dm_output_share(file);
}

dm_status dm_output_reopen(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           int64_t offset, const char id[DM_ID], dm_output_file *file,
                           bool *there) {
  *file = (dm_output_file){.at = *location, .rows = rows, .cols = cols, .dtype = dtype, .made = -1};
  memcpy(file->id, id, DM_ID);
  DM_TRY(dm_output_beside(location, ".part", file->part));
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  file->made = open(file->part, flags);
  if (file->made < 0 && errno == ENOENT) { /* its commit was interrupted */
    DM_TRY(dm_output_new_name(location, file->part));
    file->made = open(file->part, flags);
  }
  *there = file->made >= 0;
  if (file->made < 0) return errno == ENOENT ? DM_OK : failed(file, "opened");
  dm_status status = take_up(file, offset);
  if (status) dm_output_release(file);
  return status;
}
