/* file_system: the type of a file's file system; reading a few bytes from files and syncing
 * them; and what of them is in memory. */
#ifndef DM_DATASET_FILE_SYSTEM_H
#define DM_DATASET_FILE_SYSTEM_H

#include <stdbool.h>

#include "core/status.h"
#include "dataset/dataset.h"

enum { DM_FILE_SYSTEM = 24 };

/* "ext4", "nfs", "lustre", ... for the file or folder PATH; if it has no name here, its magic
 * number in hexadecimal; "unknown" if the system does not say. */
char *dm_file_file_system(const char *path, char text[DM_FILE_SYSTEM]);

/* Reads SIZE bytes of the open file FD from byte AT on; returns their number, smaller only at the
 * end of the file, or -1 with errno. */
int64_t dm_file_read_at(int fd, void *to, int64_t size, int64_t at);

/* Stores INFO as the identity of DATASET's file. */
struct stat;
void dm_dataset_set_identity(const struct stat *info, dm_dataset *dataset);

/* ---- syncs a file to the disk piece by piece, so that a slow disk shows progress ---- */

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

/* ---- how much of a file is in memory ---- */

/* The cached fraction of the file's bytes, from 0 to 1; 0 if unknown. Takes less than a millisecond
 * for files of any size: large ones are sampled. */
double dm_file_cached(const char *path);

/* Whether PATH, or its directory if it does not exist yet, is on a file system in memory. */
bool dm_file_is_memory(const char *path);

#endif
