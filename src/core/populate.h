/* populate: faults in the pages of a mapping before they are used. */
#ifndef DM_CORE_POPULATE_H
#define DM_CORE_POPULATE_H

#include <stdbool.h>
#include <stdint.h>

/* Populates all pages from BASE, a page boundary, on all cores that this process may use; WRITE:
 * for writing. Returns 0, or the errno that would otherwise become a signal later; EINVAL: Linux is
 * older than 5.14, nothing was done. */
int dm_populate(void *base, int64_t bytes, bool write);

#endif
