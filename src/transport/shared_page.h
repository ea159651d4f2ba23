/* shared_page: counters in the shared memory of a node's ranks. */
#ifndef DM_TRANSPORT_SHARED_PAGE_H
#define DM_TRANSPORT_SHARED_PAGE_H

#include <stdatomic.h>

#include "transport/shared_memory.h"

enum { DM_PAGE_COUNTERS = 16 }; /* per rank: a cache line and its neighbour */

typedef struct dm_shared_line {
  _Atomic uint64_t counter[DM_PAGE_COUNTERS];
} dm_shared_line;

/* One line per rank of the group; all counters start at 0. */
static inline dm_shared_line *dm_shared_lines(const dm_shared_memory *memory) {
  return (dm_shared_line *)(void *)memory->base;
}

static inline int64_t dm_shared_lines_bytes(const dm_comm *group) {
  return dm_comm_size(group) * (int64_t)sizeof(dm_shared_line);
}

#endif
