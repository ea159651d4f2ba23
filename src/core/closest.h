/* closest: suggests the name that was probably meant. */
#ifndef DM_CORE_CLOSEST_H
#define DM_CORE_CLOSEST_H

#include "core/status.h"

/* The index of the name in NAMES[0 .. COUNT) with the smallest edit distance to NAME, or -1 if none
 * is close enough. */
int dm_closest(const char *name, const char *const *names, int count);

/* Adds the hint "did you mean ...?" to STATUS if a name is close enough. */
dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count);

/* The number of characters to change, insert or remove to get from A to B; texts that are too long
 * are far apart. */
int dm_distance(const char *a, const char *b);

#endif
