/* file_sync: syncs a file to the disk piece by piece, so that a slow disk shows progress. */
#ifndef DM_FILE_FILE_SYNC_H
#define DM_FILE_FILE_SYNC_H

#include <stdbool.h>

#include "core/status.h"

/* Returns 0 or an errno. Do not retry: after a failure the kernel may consider lost pages clean.
 * ALL: including all metadata, not only data and length. KEEPALIVE (or NULL) beats with each piece;
 * a sync cannot be stopped half-way. */
int dm_file_sync(int fd, bool all, const dm_keepalive *keepalive);

#endif
