/* file_sync: makes a file safe on the disk, piece by piece, so that a slow disk is seen to move. */
#ifndef DM_IO_FILE_SYNC_H
#define DM_IO_FILE_SYNC_H

#include <stdbool.h>

#include "core/keepalive.h"

/* Returns 0 or an errno; not to be tried again: after a failure the kernel may call lost pages
 * clean.  ALL: with what the system knows of the file beyond its data and length.  KEEPALIVE (or
 * NULL) beats with each piece; a sync is not stopped half-way. */
int dm_file_sync(int fd, bool all, const dm_keepalive *keepalive);

#endif
