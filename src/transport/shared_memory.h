/* shared_memory: memory that the ranks of one node see at once, each under an address of its own.
 */
#ifndef DM_TRANSPORT_SHARED_MEMORY_H
#define DM_TRANSPORT_SHARED_MEMORY_H

#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"

typedef struct dm_shared_memory {
  char *base; /* begins a page; all bytes are 0 at first */
  int64_t bytes;
} dm_shared_memory;

/* Collective in GROUP, whose ranks must be of one node; all leave with the same outcome.  The
 * memory has no name and no place in any file system (memfd_create(2)), so that neither the size of
 * /dev/shm limits it nor a rank that is killed leaves it behind; it counts as the memory of its
 * users.  DM_E_FIT: there is not so much; DM_E_DEVICE: these ranks cannot share any. */
dm_status dm_shared_memory_open(const dm_comm *group, int64_t bytes, dm_shared_memory *memory);

/* Local: others keep what they see.  One that was never opened is allowed. */
void dm_shared_memory_close(dm_shared_memory *memory);

#endif
