/* The sums of a symmetric C of which one half is at hand: the other one is its mirror image. */
#include <stdlib.h>

#include "check/freivalds.h"
#include "check/freivalds_impl.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"

enum { PIECE = 4 << 20 }; /* bytes of a mirror image */

/* PART's columns AT to AT + COUNT, as the rows of an image in MEMORY: without what is on the
 * diagonal, or in the other half, of a stored half. */
static dm_view image_of(const dm_freivalds *check, dm_view part, int64_t row, int64_t col,
                        int64_t at, int64_t count, void *memory) {
  const dm_view image = dm_view_row_major(memory, part.dtype, count, part.rows);
  const dm_half half = check->problem.half;
  dm_copy(image, dm_view_transpose(dm_view_sub(part, 0, at, part.rows, count)),
          check->problem.symmetry == DM_HERMITIAN);
  if (half == DM_LOWER_HALF) dm_clear_triangle(image, col + at, row - 1, true);
  if (half == DM_UPPER_HALF) dm_clear_triangle(image, col + at, row + 1, false);
  return image;
}

dm_status dm_freivalds_add_image(dm_freivalds *check, dm_view part, int64_t row, int64_t col) {
  const int64_t line = dm_max(1, part.rows * dm_dtype_size(part.dtype));
  const int64_t most = dm_max(1, PIECE / line);
  DM_FREED void *memory = NULL;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_buffer_alloc(dm_min(most, part.cols) * line, &memory));
  for (int64_t at = 0; at < part.cols; at += most) {
    const int64_t count = dm_min(most, part.cols - at);
    DM_TRY(dm_freivalds_add_stored(check, NULL, image_of(check, part, row, col, at, count, memory),
                                   col + at, row));
  }
  return DM_OK;
}
