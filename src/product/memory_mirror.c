#include "product/memory_mirror.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "plan/triangle.h"

enum { PIECE = 4 << 20 }; /* bytes of a mirror image */

static int64_t nearer(int64_t border, dm_range range, int64_t row) {
  if (range.begin > row) border = dm_min(border, range.begin);
  if (range.end > row) border = dm_min(border, range.end);
  return border;
}

int64_t dm_memory_mirror_border(const dm_plan *plan, int64_t tile, int64_t row) {
  int64_t border = plan->problem.m;
  for (int i = 0; i < plan->pm; i++)
    for (int l = 0; l < plan->pk; l++)
      border = nearer(border, dm_plan_c_share(plan, tile, i, l), row);
  for (int j = 0; j < plan->pn; j++) border = nearer(border, dm_plan_cols(plan, tile, j), row);
  return border;
}

static dm_range common(dm_range a, dm_range b) {
  const int64_t begin = dm_max(a.begin, b.begin);
  return (dm_range){begin, dm_max(begin, dm_min(a.end, b.end))};
}

dm_view dm_memory_mirror_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent) {
  const dm_range down = common(rows, extent.rows), across = common(cols, extent.cols);
  return dm_view_sub(sums, down.begin - rows.begin, across.begin - cols.begin, dm_range_size(down),
                     dm_range_size(across));
}

void dm_memory_mirror_square(const dm_rank_state *local, dm_view sums, dm_range rows) {
  const dm_range square = common(rows, local->cols);
  dm_mirror(dm_memory_mirror_cut(sums, rows, local->cols, (dm_extent){square, square}),
            local->plan->problem.symmetry == DM_HERMITIAN);
}

/* Adds the mirror image of PART at (row, col) of C, some of its columns at a time. */
static dm_status add_mirrored(dm_freivalds *check, dm_view part, int64_t row, int64_t col,
                              bool conjugate) {
  const int64_t line = dm_max(1, part.rows * dm_dtype_size(part.dtype));
  const int64_t most = dm_max(1, PIECE / line);
  void *memory;
  dm_status status = DM_OK;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_buffer_alloc(dm_min(most, part.cols) * line, &memory));
  for (int64_t at = 0; at < part.cols && !status; at += most) {
    const dm_view some = dm_view_sub(part, 0, at, part.rows, dm_min(most, part.cols - at));
    const dm_view image = dm_view_row_major(memory, part.dtype, some.cols, some.rows);
    dm_copy(image, dm_view_transpose(some), conjugate);
    status = dm_freivalds_add_c(check, NULL, image, col + at, row);
  }
  free(memory);
  return status;
}

dm_status dm_memory_mirror_check(dm_freivalds *check, const dm_rank_state *local, dm_view sums,
                                 dm_range rows) {
  const dm_problem *p = &local->plan->problem;
  const dm_range all = rows, cols = local->cols;
  dm_memory_mirror_square(local, sums, rows);
  for (dm_stripe s; rows.begin < rows.end; rows.begin = s.rows.end) {
    s = dm_triangle_stripe(p, rows, cols, 0);
    const dm_view part =
        dm_view_sub(sums, s.rows.begin - all.begin, 0, dm_range_size(s.rows), s.cols);
    DM_TRY(dm_freivalds_add_c(check, NULL, part, s.rows.begin, cols.begin));
    DM_TRY(add_mirrored(check, dm_view_sub(part, 0, 0, part.rows, s.cols - s.square), s.rows.begin,
                        cols.begin, p->symmetry == DM_HERMITIAN));
  }
  return DM_OK;
}
