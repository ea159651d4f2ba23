/* cache_file: small files of measurements in the user's cache.  None of them is ever needed. */
#ifndef DM_RUN_CACHE_FILE_H
#define DM_RUN_CACHE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/log.h"
#include "core/status.h"
#include "io/dataset.h"

enum { DM_CACHE_BYTES = 1 << 16 }; /* a larger file is none of ours */

/* $XDG_CACHE_HOME or $HOME/.cache, then damier/KIND-NAME.json, NAME in small letters and digits
 * with dashes between.  DM_E_USAGE where neither is set. */
dm_status dm_cache_path(const char *kind, const char *name, char path[DM_PATH]);

/* A kind of file: what PARSE makes of one, for FACTS, in SIZE bytes of plain data. */
typedef struct dm_cache_kind {
  const char *schema;
  size_t size;
  dm_status (*parse)(const json_t *root, const void *facts, void *value);
} dm_cache_kind;

/* Of TEXT, which may be anything: DM_E_INPUT, and VALUE as it was, where it is not of KIND. */
dm_status dm_cache_parse(const dm_cache_kind *kind, const char *text, size_t length,
                         const void *facts, void *value);

/* Of the file; *found false where that fails and, without an error, where there is none. */
dm_status dm_cache_read(const dm_cache_kind *kind, const char *path, const void *facts, bool *found,
                        void *value);

/* What is wrong with a file that is about to be replaced; frees STATUS. */
void dm_cache_replaces(const dm_log *log, dm_status status);

/* "" where OBJECT has no such text. */
const char *dm_cache_text(const json_t *object, const char *key);

/* Replaces the file at once or not at all.  MAKE_DIRECTORY: also the directories that it is in. */
dm_status dm_cache_write(const char *path, bool make_directory, const char *text);

#endif
