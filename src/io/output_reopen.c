#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/batch.h"
#include "io/output_file.h"

static dm_status failed(const dm_output_file *file, const char *what) {
  return dm_fail_at(DM_E_IO, &file->at, "'%s' cannot be %s: %s", file->part, what, strerror(errno));
}

/* BYTES at the beginning of the file FD, from or into MEMORY. */
static dm_status move_head(int fd, bool writing, const char *name, void *memory, int64_t bytes) {
  dm_batch batch;
  dm_batch_start(&batch, fd, writing, name, NULL);
  DM_TRY(dm_batch_add(&batch, memory, bytes, 0));
  return dm_batch_flush(&batch);
}

/* What lies before the data, and the file's length, are those of the new file MODEL. */
static dm_status copy_structure(const dm_output_file *file, int fd, int model) {
  struct stat info;
  void *head;
  if (fstat(model, &info) < 0) return failed(file, "compared");
  DM_TRY(dm_buffer_alloc(file->offset, &head));
  dm_status status = move_head(model, false, file->part, head, file->offset);
  if (!status) status = move_head(fd, true, file->part, head, file->offset);
  free(head);
  DM_TRY(status);
  if (ftruncate(fd, info.st_size) < 0) return failed(file, "cut to its length");
  DM_TRY(dm_output_reserve(file, fd, (int64_t)info.st_size));
  return fsync(fd) < 0 ? failed(file, "synced") : DM_OK;
}

static dm_status restore_structure(dm_output_file *file, int fd, int64_t offset) {
  char path[DM_PATH + 16];
  snprintf(path, sizeof path, "%s.new", file->part);
  dm_status status = dm_output_structure(file, path, NULL);
  if (!status && file->offset != offset)
    status =
        dm_hint(dm_fail_at(DM_E_IO, &file->at, "this HDF5 library would place its data elsewhere"),
                "resume with the library of the first run, or start over with --force");
  int model = status ? -1 : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (!status && model < 0) status = failed(file, "compared");
  if (!status) status = copy_structure(file, fd, model);
  if (model >= 0) close(model);
  unlink(path);
  return status;
}

dm_status dm_output_reopen(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           int64_t offset, dm_output_file *file, bool *there) {
  struct stat info;
  *file = (dm_output_file){.at = *location, .rows = rows, .cols = cols, .dtype = dtype};
  DM_TRY(dm_output_part_name(location, file->part));
  int fd = open(file->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  *there = fd >= 0;
  if (fd < 0) return errno == ENOENT ? DM_OK : failed(file, "opened");
  dm_status status = DM_OK;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
    status = dm_fail_at(DM_E_IO, location, "'%s' is not a file", file->part);
  else if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
    status = dm_fail_at(DM_E_IO, location, "another run is writing '%s'", file->part);
  if (!status) status = restore_structure(file, fd, offset);
  close(fd);
  return status;
}
