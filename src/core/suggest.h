/* suggest: names that were probably meant. */
#ifndef DM_CORE_SUGGEST_H
#define DM_CORE_SUGGEST_H

#include "core/status.h"

/* The index of the name in NAMES[0 .. COUNT) with the smallest edit distance to NAME; if none is
 * close enough, of the first that NAME abbreviates, or -1. */
int dm_closest(const char *name, const char *const *names, int count);

/* Adds the hint "did you mean ...?" to STATUS if a name is close enough. */
dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count);

/* The number of characters to change, insert, remove or swap with the next one to get from A to B;
 * texts that are too long are far apart. */
int dm_edit_distance(const char *a, const char *b);

#endif
