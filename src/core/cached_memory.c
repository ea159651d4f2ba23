#include "core/cached_memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"

enum {
  CACHED_MEMORY_LEAST = 4 << 20, /* bytes; of less than that malloc keeps enough */
  CACHED_MEMORY_SPARE = 8        /* a block may have this part more than is needed */
};

void *dm_cached_take(dm_cached_memory *cached, int64_t bytes) {
  int best = -1;
  for (int i = 0; i < DM_CACHED; i++) {
    const int64_t there = cached->block[i].bytes;
    if (cached->block[i].memory && there >= bytes && there - bytes <= bytes / CACHED_MEMORY_SPARE &&
        (best < 0 || there < cached->block[best].bytes))
      best = i;
  }
  if (best < 0) return NULL;
  void *memory = cached->block[best].memory;
  cached->block[best].memory = NULL;
  return memory;
}

/* What is kept takes address space. */
static bool is_limited(void) {
  struct rlimit space, data;
  return getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
         space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

void dm_cached_give(dm_cached_memory *cached, void *memory, int64_t bytes) {
  /* Only whole pages of it: others may have the rest of the last one, where pages are larger. */
  const int64_t page = sysconf(_SC_PAGESIZE);
  const size_t size = (size_t)(dm_round_up(bytes, DM_ALIGNMENT) / page * page);
  for (int i = 0; i < DM_CACHED && bytes >= CACHED_MEMORY_LEAST && !is_limited(); i++) {
    if (cached->block[i].memory) continue;
    if (madvise(memory, size, MADV_FREE) != 0) break;
    cached->block[i].memory = memory;
    cached->block[i].bytes = bytes;
    return;
  }
  free(memory);
}

void dm_cached_drop(dm_cached_memory *cached) {
  for (int i = 0; i < DM_CACHED; i++) free(cached->block[i].memory);
  *cached = (dm_cached_memory){0};
}

static int64_t resident(char *memory, int64_t bytes) {
  unsigned char there[4096];
  const int64_t page = sysconf(_SC_PAGESIZE), most = (int64_t)sizeof there * page;
  int64_t pages = 0;
  for (int64_t at = 0; at < bytes; at += most) {
    const int64_t part = dm_min(most, bytes - at);
    if (mincore(memory + at, (size_t)part, there) != 0) break;
    for (int64_t i = 0; i < dm_ceil_div(part, page); i++) pages += there[i] & 1;
  }
  return pages * page;
}

int64_t dm_cached_bytes(const dm_cached_memory *cached) {
  int64_t bytes = 0;
  for (int i = 0; i < DM_CACHED; i++)
    if (cached->block[i].memory) bytes += resident(cached->block[i].memory, cached->block[i].bytes);
  return bytes;
}
