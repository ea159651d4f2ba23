/* shared_memory: memory shared by the ranks of one node, each with its own address, and the
 * transport that keeps panels in it. */
#ifndef DM_TRANSPORT_SHARED_MEMORY_H
#define DM_TRANSPORT_SHARED_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"

typedef struct dm_shared_memory {
  char *base; /* page-aligned; zeroed */
  int64_t bytes;
} dm_shared_memory;

/* Collective in GROUP, whose ranks must be on one node; same outcome on all. The memory has no name
 * in any file system (memfd_create(2)), so the size of /dev/shm does not limit it, and killed ranks
 * leave nothing behind; it is accounted to the processes that use it. DM_E_FIT: not enough memory;
 * DM_E_DEVICE: these ranks cannot share memory. */
dm_status dm_shared_memory_open(const dm_comm *group, int64_t bytes, dm_shared_memory *memory);

/* Local: others keep their mapping. MEMORY may never have been opened. */
void dm_shared_memory_close(dm_shared_memory *memory);

/* ---- counters in the shared memory of a node's ranks ---- */

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
