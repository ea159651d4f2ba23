/* json_file: reads a JSON document of an untrusted store. */
#ifndef DM_DATASET_JSON_FILE_H
#define DM_DATASET_JSON_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "core/status.h"

enum { DM_JSON_LIMIT = 1 << 26 }; /* bytes of a document */

/* Parses LENGTH bytes of TEXT. Python writes NaN and Infinity, which JSON does not have, and
 * integers that 64 bits with a sign do not hold: both become texts. Objects that name a key twice
 * are refused. DM_E_INPUT: why it is no document; the caller frees *value with json_decref. */
dm_status dm_json_parse(const char *text, int64_t length, json_t **value);

/* The same for the open file FD. */
dm_status dm_json_read(int fd, json_t **value);

/* *number = the integer VALUE, which may be a real without a fraction; false: it is none. */
bool dm_json_integer(const json_t *value, int64_t *number);

#endif
