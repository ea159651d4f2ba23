/* page_cache: how much of a file memory holds already. */
#ifndef DM_IO_PAGE_CACHE_H
#define DM_IO_PAGE_CACHE_H

#include <stdbool.h>

/* The part of the file's bytes that need not be read from a disk, from 0 to 1; 0 where the system
 * does not say.  Takes less than a millisecond for files of any size: of large ones samples. */
double dm_io_cached(const char *path);

/* Whether PATH, or where it is not there yet its directory, lies in a file system that is memory.
 */
bool dm_io_is_memory(const char *path);

#endif
