/* naming: how files and datasets appear in messages, and names of files next to them. */
#ifndef DM_DATASET_NAMING_H
#define DM_DATASET_NAMING_H

#include "dataset/dataset.h"

/* Prefixes the message of STATUS with "FILE:/dataset: " and returns STATUS. */
dm_status dm_file_named(dm_status status, const dm_location *at);

#define dm_fail_at(code, at, ...) dm_file_named(dm_fail(code, __VA_ARGS__), at)

/* Replaces invalid UTF-8 and control characters in TEXT; false if there were any. */
bool dm_text_clean(char *text);

enum { DM_SIBLING_PATH = DM_PATH + 16 }; /* room for the names of files next to an output */

/* AT's file name followed by ENDING (at most 8 characters); DM_E_USAGE: too long. */
dm_status dm_file_sibling(const dm_location *at, const char *ending, char path[DM_SIBLING_PATH]);

/* "'PATH' cannot be WHAT: " and the reason in errno. */
dm_status dm_file_failed(const dm_location *at, const char *path, const char *what);

/* STATUS with what to do about a file whose name begins with "~". */
dm_status dm_file_hint_home(dm_status status);

/* Whether PATH, not followed if it is a link, names the open file FD: while that is open, no other
 * file can get its inode. */
bool dm_path_names(const char *path, int fd);

/* The directory of FILE: "." if it names none. */
void dm_path_directory(const char *file, char directory[DM_PATH]);

#endif
