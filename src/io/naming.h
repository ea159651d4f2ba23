/* naming: how files and datasets appear in messages. */
#ifndef DM_IO_NAMING_H
#define DM_IO_NAMING_H

#include "io/dataset.h"

/* Puts "FILE:/dataset: " before the message of STATUS and returns it. */
dm_status dm_io_named(dm_status status, const dm_location *at);

#define dm_fail_at(code, at, ...) dm_io_named(dm_fail(code, __VA_ARGS__), at)

/* Replaces in TEXT what is not UTF-8 or would control a terminal; false where there was any. */
bool dm_io_clean(char *text);

#endif
