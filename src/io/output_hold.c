/* Holds the part file by its descriptor: a file that takes its name is another one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "io/output_file.h"

dm_status dm_output_share(dm_output_file *file) {
  struct stat info;
  if (fstat(file->made, &info) < 0) return dm_output_failed(&file->at, file->part, "examined");
  file->inode = (uint64_t)info.st_ino;
  return dm_output_lock(&file->at, file->part, file->made, LOCK_SH);
}

/* While it is open, no other file can get its inode. */
static bool is_held(const dm_output_file *file, const char *path) {
  struct stat named, held;
  return lstat(path, &named) == 0 && fstat(file->made, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

dm_status dm_output_check_name(const dm_output_file *file, const char *path) {
  if (is_held(file, path)) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, &file->at,
                            "'%s' is not the file that this run made: it was removed or replaced",
                            path),
                 "is another run writing the same output?");
}

dm_status dm_output_check_open(const dm_output_file *file, int fd) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_output_failed(&file->at, file->part, "examined");
  /* Not the device: every node of a cluster numbers its mounts itself. */
  if (S_ISREG(info.st_mode) && (uint64_t)info.st_ino == file->inode) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_IO, &file->at, "'%s' is not the file that rank 0 made", file->part),
      "is another run using it, or do the nodes see different file systems?");
}

void dm_output_discard(const dm_output_file *file) {
  if (file->part[0] && is_held(file, file->part)) unlink(file->part);
}

void dm_output_release(dm_output_file *file) {
  if (file->made >= 0) close(file->made);
  file->made = -1;
}
