#include "core/populate.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "core/checked.h"
#include "core/fork_join.h"

/* Since Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum { AT_ONCE = 16 << 20 }; /* bytes that a thread populates per call */

typedef struct pages {
  char *base;
  int64_t bytes;
  int advice;
  atomic_int_fast64_t next;
  atomic_int failed;
} pages;

static void take(void *context) {
  pages *p = context;
  for (;;) {
    const int64_t at = atomic_fetch_add(&p->next, AT_ONCE);
    if (at >= p->bytes || atomic_load(&p->failed)) return;
    int result;
    do result = madvise(p->base + at, (size_t)dm_min(AT_ONCE, p->bytes - at), p->advice);
    while (result != 0 && errno == EINTR);
    if (result != 0) atomic_store(&p->failed, errno);
  }
}

int dm_populate(void *base, int64_t bytes, bool write) {
  pages all = {
      .base = base, .bytes = bytes, .advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ};
  const int64_t pieces = dm_ceil_div(bytes, AT_ONCE);
  if (pieces > 0) (void)dm_fork_join((int)dm_min(pieces, dm_cores()), take, &all);
  return atomic_load(&all.failed);
}
