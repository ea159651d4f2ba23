#include "dataset/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/checked.h"
#include "dataset/dataset.h"
#include "dataset/naming.h"

/* Numbers from linux/magic.h, and of file systems with external drivers. */
static const struct {
  uint32_t magic;
  const char *name;
} file_system_kinds[] = {
    {0xEF53, "ext4"},         {0x58465342, "xfs"},       {0x9123683E, "btrfs"},
    {0x2FC12FC1, "zfs"},      {0xF2F52010, "f2fs"},      {0x01021994, "tmpfs"},
    {0x858458F6, "ramfs"},    {0x794C7630, "overlayfs"}, {0x6969, "nfs"},
    {0xFF534D42, "cifs"},     {0xFE534D42, "smb2"},      {0x01021997, "9p"},
    {0x65735546, "fuse"},     {0x00C36400, "ceph"},      {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},     {0x19830326, "beegfs"},    {0xAAD7AAEA, "panfs"},
    {0x7461636F, "ocfs2"},    {0x01161970, "gfs2"},      {0x20030528, "orangefs"},
    {0x73717368, "squashfs"},
};

char *dm_file_file_system(const char *path, char text[DM_FILE_SYSTEM]) {
  struct statfs found;
  snprintf(text, DM_FILE_SYSTEM, "unknown");
  if (statfs(path, &found) != 0) return text;
  const uint32_t magic = (uint32_t)found.f_type;
  snprintf(text, DM_FILE_SYSTEM, "0x%x", magic);
  for (size_t i = 0; i < sizeof file_system_kinds / sizeof file_system_kinds[0]; i++)
    if (file_system_kinds[i].magic == magic)
      snprintf(text, DM_FILE_SYSTEM, "%s", file_system_kinds[i].name);
  return text;
}

int64_t dm_file_read_at(int fd, void *to, int64_t size, int64_t at) {
  int64_t got = 0;
  while (got < size) {
    const ssize_t more = pread(fd, (char *)to + got, (size_t)(size - got), at + got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    if (more == 0) break;
    got += more;
  }
  return got;
}

/* ---- syncing ---- */

enum { FILE_SYSTEM_PIECE = 64 << 20 }; /* bytes */

static const unsigned file_system_begin = SYNC_FILE_RANGE_WRITE,
                      file_system_complete = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                             SYNC_FILE_RANGE_WAIT_AFTER;

/* Starts writing the next piece while waiting for the current one. fsync does not repeat errors
 * reported here. */
static int sync_data(int fd, const dm_keepalive *keepalive) {
  struct stat info;
  if (fstat(fd, &info) < 0) return errno;
  for (int64_t at = 0; at < info.st_size; at += FILE_SYSTEM_PIECE) {
    (void)!sync_file_range(fd, at + FILE_SYSTEM_PIECE, FILE_SYSTEM_PIECE, file_system_begin);
    if (sync_file_range(fd, at, FILE_SYSTEM_PIECE, file_system_complete) < 0) {
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
  dm_path_directory(at->file, directory);
  *folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return *folder < 0 ? dm_file_failed(at, directory, "opened") : DM_OK;
}

dm_status dm_folder_sync(const dm_location *at, int folder) {
  char directory[DM_PATH];
  if (fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP) return DM_OK;
  dm_path_directory(at->file, directory);
  return dm_file_failed(at, directory, "synced");
}

dm_status dm_folder_sync_name(const dm_location *at) {
  int folder;
  DM_TRY(dm_folder_open(at, &folder));
  dm_status status = dm_folder_sync(at, folder);
  close(folder);
  return status;
}

/* ---- what is in memory ---- */

enum {
  SAMPLES = 64,
  FILE_SYSTEM_SAMPLE = 1 << 20,
  FILE_SYSTEM_PAGE = 4096 /* the smallest */
};

/* In linux/mman.h since 6.5. */
enum { CACHESTAT = 451 };
typedef struct range {
  uint64_t offset, length;
} range;
typedef struct file_system_counts {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;
} file_system_counts;

static bool count_pages(int fd, int64_t first_byte, int64_t bytes, int64_t *pages) {
  range where = {(uint64_t)first_byte, (uint64_t)bytes};
  file_system_counts found = {0};
  if (syscall(CACHESTAT, fd, &where, &found, 0) != 0) return false;
  *pages += (int64_t)found.cached;
  return true;
}

/* For older kernels, which only report to the owner of a file. */
static bool count_resident(int fd, int64_t first_byte, int64_t bytes, int64_t *pages) {
  unsigned char resident[FILE_SYSTEM_SAMPLE / FILE_SYSTEM_PAGE];
  void *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, first_byte);
  if (map == MAP_FAILED) return false;
  const bool known = mincore(map, (size_t)bytes, resident) == 0;
  for (int64_t i = 0; known && i < dm_ceil_div(bytes, sysconf(_SC_PAGESIZE)); i++)
    *pages += resident[i] & 1;
  (void)munmap(map, (size_t)bytes);
  return known;
}

static double cached_part(int fd, const struct stat *info) {
  const int64_t size = (int64_t)info->st_size,
                samples = dm_min(SAMPLES, dm_ceil_div(size, FILE_SYSTEM_SAMPLE));
  const bool owner = info->st_uid == geteuid() || geteuid() == 0;
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t pages = 0, asked = 0;
  for (int64_t i = 0; i < samples; i++) {
    const int64_t first_byte = i * (size / samples) / page * page;
    const int64_t bytes = dm_min(FILE_SYSTEM_SAMPLE, size - first_byte);
    if (!count_pages(fd, first_byte, bytes, &pages) &&
        !(owner && count_resident(fd, first_byte, bytes, &pages)))
      return 0;
    asked += dm_ceil_div(bytes, page);
  }
  return asked > 0 ? (double)pages / (double)asked : 0;
}

double dm_file_cached(const char *path) {
  struct stat info;
  if (dm_file_is_memory(path)) return 1;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  const double part = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? cached_part(fd, &info) : 0;
  close(fd);
  return part < 1 ? part : 1;
}

bool dm_file_is_memory(const char *path) {
  char kind[DM_FILE_SYSTEM], folder[DM_PATH];
  if (access(path, F_OK) != 0) {
    dm_path_directory(path, folder);
    path = folder;
  }
  dm_file_file_system(path, kind);
  return strcmp(kind, "tmpfs") == 0 || strcmp(kind, "ramfs") == 0;
}

void dm_dataset_set_identity(const struct stat *info, dm_dataset *dataset) {
  dataset->device = (uint64_t)info->st_dev;
  dataset->inode = (uint64_t)info->st_ino;
  dataset->file_bytes = (int64_t)info->st_size;
  dataset->modified_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}
