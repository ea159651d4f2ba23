#include "plan/triangle.h"

#include <math.h>

#include "core/checked.h"

/* Least rows of a square that is computed in full: smaller products are slower than what they save
 * (on GPUs they also take another kernel: backend/cuda_launch.c). Squares differ by STEP rows. */
enum { LEAST_SQUARE = 512, LEAST_SQUARE_ON_GPU = 2048, STEP = 64 };

static bool is_symmetric(const dm_plan *plan) {
  return plan->problem.symmetry != DM_NO_SYMMETRY;
}

bool dm_triangle_is_square(const dm_plan *plan, int64_t tile, int i, int j) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return is_symmetric(plan) && t.r == t.c && i == j;
}

/* The middle of RANGE, from which on the other one of two blocks computes. One of them computes all
 * if the bits of C may not depend on the grid, or if sums are finished in whole rows. */
static int64_t border_of(const dm_plan *plan, dm_range range) {
  if (plan->border > 0 || plan->problem.compute.finish != DM_NO_FINISH) return range.end;
  return range.begin + dm_range_size(range) / 2;
}

dm_extent dm_triangle_part(const dm_plan *plan, int64_t tile, int i, int j) {
  const dm_tile t = dm_plan_tile(plan, tile);
  dm_extent part = {dm_plan_rows(plan, tile, i), dm_plan_cols(plan, tile, j)};
  if (!is_symmetric(plan) || t.r != t.c || i == j) return part;
  if (i > j)
    part.rows.end = border_of(plan, part.rows);
  else
    part.cols.begin = border_of(plan, part.cols);
  return part;
}

bool dm_triangle_has_image(const dm_plan *plan, int64_t tile, int i, int j) {
  return is_symmetric(plan) && !dm_triangle_is_square(plan, tile, i, j);
}

bool dm_triangle_has_images(const dm_plan *plan) {
  return is_symmetric(plan) && (plan->pm > 1 || plan->tiles_m > 1);
}

bool dm_triangle_keeps_sums(const dm_plan *plan) {
  return dm_triangle_has_images(plan) && plan->problem.half != DM_BOTH_HALVES;
}

/* A square of ROWS, and columns of the same numbers, cut into smaller ones. */
typedef struct cut_square {
  dm_range rows;
  int64_t squares, step;
  dm_triangle_taker *take;
  void *context;
} cut_square;

/* The rows of squares FIRST to END. */
static dm_range rows_of(const cut_square *s, int64_t first, int64_t end) {
  const int64_t size = dm_range_size(s->rows), at = s->rows.begin;
  return (dm_range){at + dm_split(size, s->squares, first, s->step).begin,
                    at + dm_split(size, s->squares, end - 1, s->step).end};
}

static dm_status each_of_squares(const cut_square *s, int64_t first, int64_t end) {
  const int64_t middle = first + (end - first) / 2;
  const dm_range all = rows_of(s, first, end);
  if (end - first == 1) return s->take(s->context, (dm_extent){all, all});
  DM_TRY(each_of_squares(s, first, middle));
  DM_TRY(s->take(s->context, (dm_extent){rows_of(s, middle, end), rows_of(s, first, middle)}));
  return each_of_squares(s, middle, end);
}

/* As many squares as have enough rows each. */
dm_status dm_triangle_each_of_square(dm_range rows, int64_t least, int64_t step,
                                     dm_triangle_taker *take, void *context) {
  const int64_t size = dm_range_size(rows);
  cut_square s = {rows, dm_max(1, size / least), step, take, context};
  while (s.squares > 1 && dm_range_size(dm_split(size, s.squares, s.squares - 1, s.step)) < least)
    s.squares--;
  return each_of_squares(&s, 0, s.squares);
}

dm_status dm_triangle_each(const dm_plan *plan, int64_t tile, int i, int j, dm_range rows,
                           dm_triangle_taker *take, void *context) {
  dm_extent part = dm_triangle_part(plan, tile, i, j);
  part.rows = (dm_range){dm_max(part.rows.begin, rows.begin), dm_min(part.rows.end, rows.end)};
  const bool square = dm_triangle_is_square(plan, tile, i, j);
  if (square) part.cols.end = dm_min(part.cols.end, part.rows.begin);
  if (dm_range_size(part.rows) <= 0) return DM_OK;
  if (dm_range_size(part.cols) > 0) DM_TRY(take(context, part));
  if (!square) return DM_OK;
  return dm_triangle_each_of_square(part.rows, plan->gpu ? LEAST_SQUARE_ON_GPU : LEAST_SQUARE,
                                    dm_max(plan->border, STEP), take, context);
}

bool dm_triangle_turns(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const bool whole = plan->pm == 1 && plan->tiles_m == 1 && plan->a == plan->b;
  return is_symmetric(plan) && whole && plan->a != DM_IN_FILE && dm_plan_in_file(p, DM_A) &&
         dm_plan_in_file(p, DM_B) && !(plan->gpu && p->symmetry == DM_HERMITIAN) &&
         (matrix == DM_A ? p->op_a : p->op_b) != DM_OP_N;
}

bool dm_triangle_mirrors_accumulators(const dm_plan *plan) {
  return plan->pk > 1 && plan->problem.compute.finish == DM_FINISH_LAST;
}

/* Accumulators of a complex C are its real and imaginary parts in turn. */
bool dm_triangle_takes_grid(const dm_problem *problem, int pm, int pn, int pk) {
  const bool layers =
      problem->compute.finish != DM_FINISH_LAST || !dm_dtype_is_complex(problem->work);
  return problem->symmetry == DM_NO_SYMMETRY ||
         ((pm == 0 || pn == 0 || pm == pn) && (layers || pk <= 1));
}

bool dm_triangle_is_image(const dm_plan *plan, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return is_symmetric(plan) && t.r < t.c;
}

int64_t dm_triangle_twin(const dm_plan *plan, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return is_symmetric(plan) ? dm_plan_tile_at(plan, t.c, t.r) : tile;
}

int64_t dm_triangle_tiles(const dm_plan *plan) {
  const int64_t side = plan->tiles_m;
  return is_symmetric(plan) ? side * (side + 1) / 2 : dm_plan_tiles(plan);
}

static dm_status add_area(void *context, dm_extent part) {
  *(double *)context += (double)dm_range_size(part.rows) * (double)dm_range_size(part.cols);
  return DM_OK;
}

/* Of the first tile. */
static double part_of_block(const dm_plan *plan, int i, int j) {
  const dm_range rows = dm_plan_rows(plan, 0, i), cols = dm_plan_cols(plan, 0, j);
  const double all = (double)dm_range_size(rows) * (double)dm_range_size(cols);
  double done = 0;
  (void)dm_triangle_each(plan, 0, i, j, rows, add_area, &done); /* cannot fail */
  return all > 0 ? done / all : 0;
}

double dm_triangle_fraction(const dm_plan *plan) {
  if (!is_symmetric(plan)) return 1;
  double most = part_of_block(plan, 0, 0);
  if (plan->pm > 1) most = fmax(most, part_of_block(plan, 1, 0)); /* the others are like these */
  const double diagonal = (double)plan->tiles_m, all = (double)dm_triangle_tiles(plan);
  return (diagonal * most + all - diagonal) / all;
}
