/* naming: how files and datasets appear in messages. */
#ifndef DM_FILE_NAMING_H
#define DM_FILE_NAMING_H

#include "file/dataset.h"

/* Prefixes the message of STATUS with "FILE:/dataset: " and returns STATUS. */
dm_status dm_io_named(dm_status status, const dm_location *at);

#define dm_fail_at(code, at, ...) dm_io_named(dm_fail(code, __VA_ARGS__), at)

/* Replaces invalid UTF-8 and control characters in TEXT; false if there were any. */
bool dm_io_clean(char *text);

#endif
