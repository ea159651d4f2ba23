/* cache_file: small files of measurements in the user's cache. All of them are optional. */
#ifndef DM_RUN_CACHE_FILE_H
#define DM_RUN_CACHE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/log.h"
#include "core/status.h"
#include "io/dataset.h"

enum { DM_CACHE_BYTES = 1 << 16 }; /* larger files are not damier's */

/* damier/KIND-NAME.json in $XDG_CACHE_HOME or $HOME/.cache; NAME is turned into lower case letters
 * and digits with dashes between. DM_E_USAGE if neither variable is set. */
dm_status dm_cache_path(const char *kind, const char *name, char path[DM_PATH]);

/* A kind of file. PARSE turns its contents into SIZE bytes of plain data, for FACTS. */
typedef struct dm_cache_kind {
  const char *schema;
  size_t size;
  dm_status (*parse)(const json_t *root, const void *facts, void *value);
} dm_cache_kind;

/* Parses TEXT, which may be anything. DM_E_INPUT, with VALUE unchanged: it is not of KIND. */
dm_status dm_cache_parse(const dm_cache_kind *kind, const char *text, size_t length,
                         const void *facts, void *value);

/* Parses the file; *found false if that fails or, without an error, if there is no file. */
dm_status dm_cache_read(const dm_cache_kind *kind, const char *path, const void *facts, bool *found,
                        void *value);

/* Warns about an invalid file that is about to be replaced; frees STATUS. */
void dm_cache_replaces(const dm_log *log, dm_status status);

/* The text at KEY of OBJECT; "" if there is none. */
const char *dm_cache_text(const json_t *object, const char *key);

/* Replaces the file atomically. MAKE_DIRECTORY: also creates its directories. */
dm_status dm_cache_write(const char *path, bool make_directory, const char *text);

#endif
