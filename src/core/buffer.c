#include "core/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/cgroup.h"
#include "core/checked.h"
#include "core/crew.h"
#include "core/units.h"

/* BUFFER_HUGE_PAGE: bytes, on x86-64 and most Arm systems. LEFT: what matrices leave of a limit to
 * libraries and threads. */
enum { BUFFER_HUGE_PAGE = 2 << 20, LEFT = 32 << 20 };

/* "ulimit -v is 524288": the limits that are set; "": none. */
static const char *limits_in_words(char text[96]) {
  static const struct {
    int resource;
    char letter;
  } limits[] = {{RLIMIT_AS, 'v'}, {RLIMIT_DATA, 'd'}};
  text[0] = '\0';
  for (int i = 0; i < 2; i++) {
    struct rlimit limit;
    const size_t used = strlen(text);
    if (getrlimit(limits[i].resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      snprintf(text + used, 96 - used, "%sulimit -%c is %llu", used ? ", " : "", limits[i].letter,
               (unsigned long long)limit.rlim_cur >> 10);
  }
  return text;
}

static dm_status buffer_refused(int64_t bytes) {
  char size[32], limits[96];
  dm_status status =
      dm_fail(DM_E_FIT, "no host memory for a buffer of %s", dm_format_bytes(bytes, size));
  return limits_in_words(limits)[0] ? dm_hint(status, "%s: raise this limit", limits) : status;
}

dm_status dm_memory_room(int64_t bytes, const char *need) {
  char limits[96], size[32];
  void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    munmap(memory, (size_t)bytes);
    return DM_OK;
  }
  dm_status status = dm_fail(DM_E_FIT, "no address space for %s, which may need %s", need,
                             dm_format_bytes(bytes, size));
  if (!limits_in_words(limits)[0]) return dm_hint(status, "see vm.overcommit_memory in proc(5)");
  return dm_hint(status, "%s: raise this limit", limits);
}

/* Requests huge pages for large matrices: fewer page faults, and fewer TLB misses when a product
 * strides over rows. The kernel ignores the request if it has none. */
dm_status dm_buffer_alloc(int64_t bytes, void **memory) {
  if (bytes < 0 || bytes > INT64_MAX - BUFFER_HUGE_PAGE) return buffer_refused(bytes);
  const bool large = bytes >= 2 * BUFFER_HUGE_PAGE;
  const int64_t alignment = large ? BUFFER_HUGE_PAGE : DM_ALIGNMENT;
  const size_t size = (size_t)dm_round_up(dm_max(bytes, 1), DM_ALIGNMENT);
  if (posix_memalign(memory, (size_t)alignment, size) != 0) *memory = NULL;
  if (!*memory) return buffer_refused(bytes);
  dm_status status = dm_memory_room(LEFT, "libraries beside a matrix");
  if (status) {
    free(*memory);
    *memory = NULL;
    return status;
  }
  if (large) (void)madvise(*memory, size, MADV_HUGEPAGE);
  return DM_OK;
}

dm_status dm_buffer_zeroed(int64_t count, int64_t size, void **memory) {
  int64_t bytes = 0;
  DM_TRY(dm_bytes_of(count, 1, size, &bytes));
  *memory = calloc((size_t)dm_max(count, 1), (size_t)size);
  if (!*memory) return buffer_refused(bytes);
  const uintptr_t at = (uintptr_t)*memory,
                  first = (at + BUFFER_HUGE_PAGE - 1) / BUFFER_HUGE_PAGE * BUFFER_HUGE_PAGE;
  if (bytes >= 2 * BUFFER_HUGE_PAGE) /* of pages that were not touched yet */
    (void)madvise((void *)first, (size_t)bytes - (first - at), MADV_HUGEPAGE);
  return DM_OK;
}

/* The value of line "NAME:   value kB" in a file of /proc, in bytes; 0: there is none. */
static int64_t kilobytes_in(const char *path, const char *name) {
  char line[160];
  long long kib = 0;
  const size_t length = strlen(name);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, length) == 0 && sscanf(line + length, ": %lld", &kib) == 1) break;
  if (file) fclose(file);
  return kib * 1024;
}

static int64_t smaller_known(int64_t a, int64_t b) {
  if (a <= 0) return b;
  if (b <= 0) return a;
  return dm_min(a, b);
}

int64_t dm_memory_total(void) {
  return smaller_known(kilobytes_in("/proc/meminfo", "MemTotal"), dm_cgroup_memory(""));
}

int64_t dm_memory_available(void) {
  return smaller_known(kilobytes_in("/proc/meminfo", "MemAvailable"), dm_cgroup_memory_left(""));
}

static int64_t status_of(const char *name) {
  return kilobytes_in("/proc/self/status", name);
}

int64_t dm_memory_own(void) {
  return status_of("RssAnon") + status_of("RssShmem");
}

int64_t dm_memory_own_peak(void) {
  return dm_max(0, status_of("VmHWM") - status_of("RssFile"));
}

/* Since Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { BUFFER_AT_ONCE = 16 << 20 }; /* bytes that a thread populates per call */

typedef struct buffer_pages {
  char *base;
  int64_t bytes;
  int advice;
  atomic_int_fast64_t next;
  atomic_int failed;
} buffer_pages;

static void buffer_take(void *context) {
  buffer_pages *p = context;
  for (;;) {
    const int64_t at = atomic_fetch_add(&p->next, BUFFER_AT_ONCE);
    if (at >= p->bytes || atomic_load(&p->failed)) return;
    int result;
    do result = madvise(p->base + at, (size_t)dm_min(BUFFER_AT_ONCE, p->bytes - at), p->advice);
    while (result != 0 && errno == EINTR);
    if (result != 0) atomic_store(&p->failed, errno);
  }
}

int dm_populate(void *base, int64_t bytes, bool write) {
  buffer_pages all = {
      .base = base, .bytes = bytes, .advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ};
  const int64_t pieces = dm_ceil_div(bytes, BUFFER_AT_ONCE);
  const int threads = pieces > 1 ? (int)dm_min(pieces, dm_cores()) : (int)pieces;
  if (threads > 0) (void)dm_fork_join(threads, buffer_take, &all);
  return atomic_load(&all.failed);
}

/* The kernel returns EFAULT where an access would end the process. */
bool dm_memory_is_readable(const void *memory) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return false;
  const bool good = write(ends[1], memory, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return good;
}
