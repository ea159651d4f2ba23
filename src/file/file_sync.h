/* file_sync: syncs a file to the disk piece by piece, so that a slow disk shows progress. */
#ifndef DM_FILE_FILE_SYNC_H
#define DM_FILE_FILE_SYNC_H

#include <stdbool.h>

#include "core/status.h"
#include "file/dataset.h"

/* Returns 0 or an errno. Do not retry: after a failure the kernel may consider lost pages clean.
 * ALL: including all metadata, not only data and length. KEEPALIVE (or NULL) beats with each piece;
 * a sync cannot be stopped half-way. */
int dm_file_sync(int fd, bool all, const dm_keepalive *keepalive);

/* Opens the directory of AT's file, and waits until the names in it are on the disk, if its file
 * system supports that. */
dm_status dm_folder_open(const dm_location *at, int *folder);
dm_status dm_folder_sync(const dm_location *at, int folder);

/* Waits until the name of AT is on the disk. */
dm_status dm_folder_sync_name(const dm_location *at);

#endif
