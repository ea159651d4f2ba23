/* closest: the known name that was probably meant. */
#ifndef DM_CORE_CLOSEST_H
#define DM_CORE_CLOSEST_H

#include "core/status.h"

/* The index of the name in NAMES[0 .. COUNT) with the least edit distance to NAME, or -1 where none
 * is near enough to be worth suggesting. */
int dm_closest(const char *name, const char *const *names, int count);

/* STATUS with the hint that this one was probably meant, if any was. */
dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count);

#endif
