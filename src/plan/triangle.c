#include "plan/triangle.h"

#include <math.h>

#include "core/checked.h"

enum { STRIPES = 16 };

int64_t dm_triangle_step(int64_t cols) {
  return dm_max(DM_BORDER, dm_round_up(dm_ceil_div(cols, STRIPES), DM_BORDER));
}

dm_stripe dm_triangle_stripe(const dm_problem *problem, dm_range rows, dm_range cols,
                             int64_t step) {
  const int64_t row = rows.begin;
  if (problem->symmetry == DM_NO_SYMMETRY || row >= cols.end)
    return (dm_stripe){rows, dm_range_size(cols), 0};
  if (row < cols.begin) return (dm_stripe){{row, dm_min(rows.end, cols.begin)}, 0, 0};
  int64_t end = dm_min(rows.end, cols.end);
  if (step > 0) end = dm_min(end, (row / step + 1) * step);
  return (dm_stripe){{row, end}, end - cols.begin, end - row};
}

dm_extent dm_triangle_beside(dm_range rows, dm_range cols, int64_t col, int64_t width) {
  const bool crosses = col >= rows.begin;
  const int64_t last = dm_min(cols.end, crosses ? rows.end : rows.begin);
  const int64_t end = dm_min(last, col + width);
  return (dm_extent){{crosses ? end : rows.begin, rows.end}, {col, end}};
}

static double part_of_block(const dm_plan *plan, dm_range rows, dm_range cols) {
  const int64_t step = dm_triangle_step(dm_range_size(cols));
  const double all = (double)dm_range_size(rows) * (double)dm_range_size(cols);
  double done = 0;
  for (dm_stripe s; rows.begin < rows.end; rows.begin = s.rows.end) {
    s = dm_triangle_stripe(&plan->problem, rows, cols, step);
    done += (double)dm_range_size(s.rows) * (double)s.cols;
  }
  return all > 0 ? done / all : 0;
}

bool dm_triangle_is_image(const dm_plan *plan, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return plan->problem.symmetry != DM_NO_SYMMETRY && t.r < t.c;
}

int64_t dm_triangle_twin(const dm_plan *plan, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return plan->problem.symmetry == DM_NO_SYMMETRY ? tile : dm_plan_tile_at(plan, t.c, t.r);
}

int64_t dm_triangle_tiles(const dm_plan *plan) {
  const int64_t side = plan->tiles_m;
  return plan->problem.symmetry == DM_NO_SYMMETRY ? dm_plan_tiles(plan) : side * (side + 1) / 2;
}

double dm_triangle_fraction(const dm_plan *plan) {
  double most = 0;
  if (plan->problem.symmetry == DM_NO_SYMMETRY) return 1;
  for (int i = 0; i < plan->pm; i++)
    for (int j = 0; j < plan->pn; j++)
      most = fmax(most, part_of_block(plan, dm_plan_rows(plan, 0, i), dm_plan_cols(plan, 0, j)));
  const double diagonal = (double)plan->tiles_m, all = (double)dm_triangle_tiles(plan);
  return (diagonal * most + all - diagonal) / all;
}
