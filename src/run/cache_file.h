/* cache_file: small files of measurements in the user's cache.  None of them is ever needed. */
#ifndef DM_RUN_CACHE_FILE_H
#define DM_RUN_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "io/dataset.h"

enum { DM_CACHE_BYTES = 1 << 16 }; /* a larger file is none of ours */

/* $XDG_CACHE_HOME or $HOME/.cache, then damier/KIND-NAME.json, NAME in small letters and digits
 * with dashes between.  DM_E_USAGE where neither is set. */
dm_status dm_cache_path(const char *kind, const char *name, char path[DM_PATH]);

/* *text NULL, and no error, where there is no such file; else the caller's to free. */
dm_status dm_cache_read(const char *path, char **text, size_t *length);

/* Replaces the file at once or not at all.  MAKE_DIRECTORY: also the directories that it is in. */
dm_status dm_cache_write(const char *path, bool make_directory, const char *text);

#endif
