/* page_cache: how much of a file is in memory. */
#ifndef DM_FILE_PAGE_CACHE_H
#define DM_FILE_PAGE_CACHE_H

#include <stdbool.h>

/* The cached fraction of the file's bytes, from 0 to 1; 0 if unknown. Takes less than a millisecond
 * for files of any size: large ones are sampled. */
double dm_io_cached(const char *path);

/* Whether PATH, or its directory if it does not exist yet, is on a file system in memory. */
bool dm_io_is_memory(const char *path);

#endif
