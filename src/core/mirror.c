#include "core/mirror.h"

#include <string.h>

#include "core/checked.h"
#include "core/copy.h"

enum { BLOCK = 64 };

static void make_real(dm_view view, int64_t i) {
  const int64_t part = dm_dtype_size(view.dtype) / 2;
  if (dm_dtype_is_complex(view.dtype))
    memset((char *)dm_view_at(view, i, i) + part, 0, (size_t)part);
}

/* The block of COUNT rows and columns on the diagonal from I on. */
static void mirror_block(dm_view square, int64_t i, int64_t count, bool conjugate) {
  for (int64_t row = i + 1; row < i + count; row++) {
    const dm_view below = dm_view_sub(square, row, i, 1, row - i);
    dm_copy(dm_view_sub(square, i, row, row - i, 1), dm_view_transpose(below), conjugate);
  }
  for (int64_t row = i; row < i + count && conjugate; row++) make_real(square, row);
}

void dm_mirror(dm_view square, bool conjugate) {
  for (int64_t i = 0; i < square.rows; i += BLOCK) {
    const int64_t count = dm_min(BLOCK, square.rows - i), end = i + count;
    const dm_view below = dm_view_sub(square, end, i, square.rows - end, count);
    mirror_block(square, i, count, conjugate);
    if (end < square.rows)
      dm_copy(dm_view_sub(square, i, end, count, square.rows - end), dm_view_transpose(below),
              conjugate);
  }
}

void dm_conjugate(dm_view view) {
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++) {
      void *at = dm_view_at(view, i, j);
      if (view.dtype == DM_C128) ((double *)at)[1] = -((double *)at)[1];
      if (view.dtype == DM_C64) ((float *)at)[1] = -((float *)at)[1];
    }
}
