#include "core/buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/checked.h"
#include "core/units.h"

enum { HUGE_PAGE = 2 << 20 }; /* bytes: on x86-64 and most Arm systems */

static dm_status refused(int64_t bytes) {
  char size[32];
  return dm_fail(DM_E_FIT, "no host memory for a buffer of %s", dm_format_bytes(bytes, size));
}

/* Large matrices ask for huge pages: fewer page faults, and fewer misses when a product jumps from
 * row to row.  A kernel that has none to give ignores the wish. */
dm_status dm_buffer_alloc(int64_t bytes, void **memory) {
  if (bytes < 0 || bytes > INT64_MAX - HUGE_PAGE) return refused(bytes);
  const bool large = bytes >= 2 * HUGE_PAGE;
  const int64_t alignment = large ? HUGE_PAGE : DM_ALIGNMENT;
  const size_t size = (size_t)dm_round_up(dm_max(bytes, 1), DM_ALIGNMENT);
  if (posix_memalign(memory, (size_t)alignment, size) != 0) *memory = NULL;
  if (!*memory) return refused(bytes);
  if (large) (void)madvise(*memory, size, MADV_HUGEPAGE);
  return DM_OK;
}

dm_status dm_buffer_zeroed(int64_t count, int64_t size, void **memory) {
  int64_t bytes = 0;
  DM_TRY(dm_bytes_of(count, 1, size, &bytes));
  *memory = calloc((size_t)dm_max(count, 1), (size_t)size);
  return *memory ? DM_OK : refused(bytes);
}

/* The value in kB of a line "NAME:   value kB" of /proc/meminfo, in bytes. */
static int64_t meminfo(const char *name) {
  FILE *file = fopen("/proc/meminfo", "r");
  if (!file) return 0;
  char line[160];
  int64_t bytes = 0;
  size_t length = strlen(name);
  while (bytes == 0 && fgets(line, sizeof line, file))
    if (strncmp(line, name, length) == 0 && line[length] == ':')
      bytes = strtoll(line + length + 1, NULL, 10) * 1024;
  fclose(file);
  return bytes;
}

static int64_t number_in(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  int64_t value = 0;
  if (fscanf(file, "%" SCNd64, &value) != 1) value = 0; /* "max": no limit */
  fclose(file);
  return value;
}

static int64_t smaller_known(int64_t a, int64_t b) {
  if (a <= 0) return b;
  if (b <= 0) return a;
  return dm_min(a, b);
}

int64_t dm_memory_total(void) {
  return smaller_known(meminfo("MemTotal"), number_in("/sys/fs/cgroup/memory.max"));
}

int64_t dm_memory_available(void) {
  int64_t limit = number_in("/sys/fs/cgroup/memory.max");
  int64_t used = limit > 0 ? number_in("/sys/fs/cgroup/memory.current") : 0;
  return smaller_known(meminfo("MemAvailable"), limit > used ? limit - used : 0);
}

/* Of /proc/self/status, in bytes; 0 where it does not say. */
static int64_t status_of(const char *name) {
  char line[128];
  long long kib = 0;
  const size_t length = strlen(name);
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, length) == 0 && sscanf(line + length, ": %lld", &kib) == 1) break;
  if (file) fclose(file);
  return kib * 1024;
}

int64_t dm_memory_own(void) {
  return status_of("RssAnon") + status_of("RssShmem");
}

int64_t dm_memory_own_peak(void) {
  return dm_max(0, status_of("VmHWM") - status_of("RssFile"));
}
