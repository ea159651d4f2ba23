/* pack_files: the contiguous file that tests turn into chunks. */
#ifndef DM_TEST_PACK_FILES_H
#define DM_TEST_PACK_FILES_H

#include "io/pack.h"
#include "io_files.h"

enum { ROWS = 70, COLS = 93 };

static inline dm_output_file contiguous(const dm_location *location, dm_dtype dtype,
                                        const void *data) {
  dm_output_file file;
  dm_output *output;
  expect_ok(dm_output_create(location, dtype, ROWS, COLS, true, &file));
  expect_ok(dm_output_open(&file, &output));
  expect_ok(dm_output_write(output, 0, 0, dm_view_row_major((void *)data, dtype, ROWS, COLS)));
  expect_ok(dm_output_close(output));
  return file;
}

static inline bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

#endif
