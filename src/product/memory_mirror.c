#include "product/memory_mirror.h"

#include "core/checked.h"
#include "plan/triangle.h"

static dm_range common(dm_range a, dm_range b) {
  const int64_t begin = dm_max(a.begin, b.begin);
  return (dm_range){begin, dm_max(begin, dm_min(a.end, b.end))};
}

dm_view dm_memory_mirror_cut(dm_view sums, dm_range rows, dm_range cols, dm_extent extent) {
  const dm_range down = common(rows, extent.rows), across = common(cols, extent.cols);
  return dm_view_sub(sums, down.begin - rows.begin, across.begin - cols.begin, dm_range_size(down),
                     dm_range_size(across));
}

dm_status dm_memory_mirror_check(dm_freivalds *check, const dm_rank_state *local, dm_view sums,
                                 dm_range rows) {
  const dm_coords *at = &local->coords;
  const dm_extent of_rank = dm_triangle_part(local->plan, local->tile, at->i, at->j);
  const dm_view part = dm_memory_mirror_cut(sums, rows, local->cols, of_rank);
  const int64_t row = common(rows, of_rank.rows).begin, col = of_rank.cols.begin;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_freivalds_add_c(check, NULL, part, row, col));
  return dm_freivalds_add_image(check, part, row, col);
}
