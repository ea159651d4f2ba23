/* shared_page: counters that the ranks of one node see at once, in POSIX shared memory. */
#ifndef DM_TRANSPORT_SHARED_PAGE_H
#define DM_TRANSPORT_SHARED_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/status.h"

enum { DM_PAGE_COUNTERS = 16 }; /* per rank: a line of the cache and its neighbour */

typedef struct dm_shared_line {
  _Atomic uint64_t counter[DM_PAGE_COUNTERS];
} dm_shared_line;

typedef struct dm_shared_page {
  dm_shared_line *line; /* one per rank of the group; all counters begin with 0 */
  int64_t bytes;
  char name[64]; /* that it had; nothing of that name exists any more */
} dm_shared_page;

/* Collective in GROUP, whose ranks must be of one node; all leave with the same outcome.  The
 * page's name is taken by no other, readable by this user alone, and gone when this returns: a rank
 * that is killed later leaves nothing behind. */
dm_status dm_shared_page_open(const dm_comm *group, dm_shared_page *page);
void dm_shared_page_close(dm_shared_page *page); /* local; one that was never opened is allowed */

#endif
