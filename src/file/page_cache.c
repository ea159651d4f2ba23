#include "file/page_cache.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/checked.h"
#include "file/mount.h"

enum { SAMPLES = 64, SAMPLE = 1 << 20, PAGE = 4096 };

/* In linux/mman.h since 6.5. */
enum { CACHESTAT = 451 };
typedef struct range {
  uint64_t offset, length;
} range;
typedef struct counts {
  uint64_t cached, dirty, writeback, evicted, recently_evicted;
} counts;

static bool count_pages(int fd, int64_t begin, int64_t bytes, int64_t *pages) {
  range where = {(uint64_t)begin, (uint64_t)bytes};
  counts found = {0};
  if (syscall(CACHESTAT, fd, &where, &found, 0) != 0) return false;
  *pages += (int64_t)found.cached;
  return true;
}

/* For older kernels, which only report to the owner of a file. */
static bool look_at_pages(int fd, int64_t begin, int64_t bytes, int64_t *pages) {
  unsigned char resident[SAMPLE / PAGE];
  void *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, begin);
  if (map == MAP_FAILED) return false;
  const bool told = mincore(map, (size_t)bytes, resident) == 0;
  for (int64_t i = 0; told && i < dm_ceil_div(bytes, PAGE); i++) *pages += resident[i] & 1;
  (void)munmap(map, (size_t)bytes);
  return told;
}

static double cached_part(int fd, const struct stat *info) {
  const int64_t size = (int64_t)info->st_size, samples = dm_min(SAMPLES, dm_ceil_div(size, SAMPLE));
  const bool owner = info->st_uid == geteuid() || geteuid() == 0;
  int64_t pages = 0, asked = 0;
  for (int64_t i = 0; i < samples; i++) {
    const int64_t begin = i * (size / samples) / PAGE * PAGE;
    const int64_t bytes = dm_min(SAMPLE, size - begin);
    if (!count_pages(fd, begin, bytes, &pages) &&
        !(owner && look_at_pages(fd, begin, bytes, &pages)))
      return 0;
    asked += dm_ceil_div(bytes, PAGE);
  }
  return asked > 0 ? (double)pages / (double)asked : 0;
}

double dm_io_cached(const char *path) {
  struct stat info;
  if (dm_io_is_memory(path)) return 1;
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  const double part = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? cached_part(fd, &info) : 0;
  close(fd);
  return part < 1 ? part : 1;
}

bool dm_io_is_memory(const char *path) {
  dm_mount where;
  return dm_io_mount(path, &where) &&
         (strcmp(where.kind, "tmpfs") == 0 || strcmp(where.kind, "ramfs") == 0);
}
