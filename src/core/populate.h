/* populate: the pages of a mapping, before anybody reads or writes them. */
#ifndef DM_CORE_POPULATE_H
#define DM_CORE_POPULATE_H

#include <stdbool.h>
#include <stdint.h>

/* All pages from BASE, which begins one, on, by all cores that this process may use; WRITE: so that
 * they can be written without a fault.  0, or the errno of what is missing, which would else be a
 * signal later; EINVAL: Linux is older than 5.14, and nothing was done. */
int dm_populate(void *base, int64_t bytes, bool write);

#endif
