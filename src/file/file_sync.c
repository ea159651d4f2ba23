#include "file/file_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/naming.h"

enum { PIECE = 64 << 20 }; /* bytes */

static const unsigned begin = SYNC_FILE_RANGE_WRITE, complete = SYNC_FILE_RANGE_WAIT_BEFORE |
                                                                SYNC_FILE_RANGE_WRITE |
                                                                SYNC_FILE_RANGE_WAIT_AFTER;

/* Starts writing the next piece while waiting for the current one. fsync does not repeat errors
 * reported here. */
static int sync_data(int fd, const dm_keepalive *keepalive) {
  struct stat info;
  if (fstat(fd, &info) < 0) return errno;
  for (int64_t at = 0; at < info.st_size; at += PIECE) {
    (void)!sync_file_range(fd, at + PIECE, PIECE, begin);
    if (sync_file_range(fd, at, PIECE, complete) < 0) {
      const bool unknown = errno == ENOSYS || errno == EINVAL || errno == ESPIPE;
      return unknown || errno == EOPNOTSUPP ? 0 : errno;
    }
    dm_status_free(dm_keepalive_beat(keepalive));
  }
  return 0;
}

int dm_file_sync(int fd, bool all, const dm_keepalive *keepalive) {
  const int failed = sync_data(fd, keepalive);
  if (failed) return failed;
  return (all ? fsync(fd) : fdatasync(fd)) < 0 ? errno : 0;
}

dm_status dm_folder_open(const dm_location *at, int *folder) {
  char directory[DM_PATH];
  dm_io_directory(at->file, directory);
  *folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return *folder < 0 ? dm_io_failed(at, directory, "opened") : DM_OK;
}

dm_status dm_folder_sync(const dm_location *at, int folder) {
  char directory[DM_PATH];
  if (fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP) return DM_OK;
  dm_io_directory(at->file, directory);
  return dm_io_failed(at, directory, "synced");
}

dm_status dm_folder_sync_name(const dm_location *at) {
  int folder;
  DM_TRY(dm_folder_open(at, &folder));
  dm_status status = dm_folder_sync(at, folder);
  close(folder);
  return status;
}
