/* cache_ahead: has the system bring files into its page cache while their reader cannot read yet,
 * because a GPU starts. */
#ifndef DM_IO_CACHE_AHEAD_H
#define DM_IO_CACHE_AHEAD_H

typedef struct dm_cache_ahead dm_cache_ahead;

enum { DM_CACHE_AHEAD_FILES = 4 };

/* Starts with the COUNT <= DM_CACHE_AHEAD_FILES files NAMES in a thread, from their beginnings, in
 * turn; a NULL is no file. Errors are left to the reader. NULL: all is in memory, or there is no
 * thread. */
dm_cache_ahead *dm_cache_ahead_start(const char *const *names, int count);

/* Requests nothing more. NULL is allowed. */
void dm_cache_ahead_stop(dm_cache_ahead *ahead);

#endif
