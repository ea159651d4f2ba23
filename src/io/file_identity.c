#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "io/read.h"

dm_status dm_io_identity(dm_dataset *dataset) {
  struct stat info;
  if (stat(dataset->at.file, &info) < 0)
    return dm_fail(DM_E_IO, "%s: %s", dataset->at.file, strerror(errno));
  dataset->device = (uint64_t)info.st_dev;
  dataset->inode = (uint64_t)info.st_ino;
  dataset->file_bytes = (int64_t)info.st_size;
  dataset->modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
  return DM_OK;
}
