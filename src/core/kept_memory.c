#include "core/kept_memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"

enum {
  KEPT_MEMORY_LEAST = 4 << 20, /* bytes; of less than that malloc keeps enough */
  KEPT_MEMORY_SPARE = 8        /* a block may have this part more than is needed */
};

void *dm_kept_take(dm_kept_memory *kept, int64_t bytes) {
  int best = -1;
  for (int i = 0; i < DM_KEPT; i++) {
    const int64_t there = kept->block[i].bytes;
    if (kept->block[i].memory && there >= bytes && there - bytes <= bytes / KEPT_MEMORY_SPARE &&
        (best < 0 || there < kept->block[best].bytes))
      best = i;
  }
  if (best < 0) return NULL;
  void *memory = kept->block[best].memory;
  kept->block[best].memory = NULL;
  return memory;
}

/* What is kept takes address space. */
static bool is_limited(void) {
  struct rlimit space, data;
  return getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
         space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

void dm_kept_give(dm_kept_memory *kept, void *memory, int64_t bytes) {
  /* Only whole pages of it: others may have the rest of the last one, where pages are larger. */
  const int64_t page = sysconf(_SC_PAGESIZE);
  const size_t size = (size_t)(dm_round_up(bytes, DM_ALIGNMENT) / page * page);
  for (int i = 0; i < DM_KEPT && bytes >= KEPT_MEMORY_LEAST && !is_limited(); i++) {
    if (kept->block[i].memory) continue;
    if (madvise(memory, size, MADV_FREE) != 0) break;
    kept->block[i].memory = memory;
    kept->block[i].bytes = bytes;
    return;
  }
  free(memory);
}

void dm_kept_drop(dm_kept_memory *kept) {
  for (int i = 0; i < DM_KEPT; i++) free(kept->block[i].memory);
  *kept = (dm_kept_memory){0};
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

int64_t dm_kept_bytes(const dm_kept_memory *kept) {
  int64_t bytes = 0;
  for (int i = 0; i < DM_KEPT; i++)
    if (kept->block[i].memory) bytes += resident(kept->block[i].memory, kept->block[i].bytes);
  return bytes;
}
