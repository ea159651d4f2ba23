/* array: a named array of a result in host memory, row-major. */
#ifndef DM_CORE_ARRAY_H
#define DM_CORE_ARRAY_H

#include "core/dtype.h"

typedef struct dm_array {
  const char *name;
  dm_dtype dtype;     /* DM_DTYPE_NONE: int64_t */
  int64_t rows, cols; /* COLS 0: of one dimension */
  const void *data;
} dm_array;

#endif
