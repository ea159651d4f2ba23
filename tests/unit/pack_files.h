/* pack_files: the contiguous file that tests convert to chunks. */
#ifndef DM_TEST_PACK_FILES_H
#define DM_TEST_PACK_FILES_H

#include "file_cases.h"
#include "io/pack.h"

enum { ROWS = 70, COLS = 93 };

static inline dm_output_file contiguous(const dm_location *location, dm_dtype dtype,
                                        const void *data) {
  dm_output_file file;
  ok(create_output(location, dtype, ROWS, COLS, &file));
  write_data(&file, data);
  return file;
}

static inline bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

#endif
