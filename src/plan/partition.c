#include "plan/partition.h"

#include <math.h>

#include "core/checked.h"

/* The first parts have one unit more, so part 0 is a largest one: buffer sizes rely on that. */
dm_range dm_split(int64_t total, int64_t parts, int64_t index, int64_t step) {
  int64_t units = total / step + (total % step != 0);
  int64_t each = units / parts, rest = units % parts;
  int64_t begin = index * each + dm_min(index, rest);
  int64_t end = begin + each + (index < rest);
  /* begin * step is below total unless the part is empty, so clip before multiplying */
  dm_range range = {begin < units ? begin * step : total, end < units ? end * step : total};
  return range;
}

static int64_t partition_step_of(const dm_plan *plan) {
  return plan->border > 0 ? plan->border : 1;
}

/* Part INDEX of a range that starts at a multiple of PARTITION_STEP. */
static dm_range split_range(dm_range whole, int64_t parts, int64_t index, int64_t step) {
  dm_range part = dm_split(dm_range_size(whole), parts, index, step);
  part.begin += whole.begin;
  part.end += whole.begin;
  return part;
}

/* A node is a box of qm x qn x qk ranks, nodes form a grid of boxes; j varies fastest in both. With
 * boxes of one rank this is the plain order of the grid, l slowest, in which a grid row is a run of
 * ranks. */
dm_coords dm_plan_coords(const dm_plan *plan, int rank) {
  if (rank < 0 || rank >= dm_plan_used(plan)) return (dm_coords){.idle = true};
  int box = plan->qm * plan->qn * plan->qk, node = rank / box, local = rank % box;
  int across = plan->pn / plan->qn, down = plan->pm / plan->qm;
  dm_coords coords;
  coords.j = node % across * plan->qn + local % plan->qn;
  coords.i = node / across % down * plan->qm + local / plan->qn % plan->qm;
  coords.l = node / across / down * plan->qk + local / plan->qn / plan->qm;
  coords.idle = false;
  return coords;
}

int dm_plan_rank(const dm_plan *plan, int i, int j, int l) {
  int across = plan->pn / plan->qn, down = plan->pm / plan->qm;
  int node = (l / plan->qk * down + i / plan->qm) * across + j / plan->qn;
  int local = (l % plan->qk * plan->qm + i % plan->qm) * plan->qn + j % plan->qn;
  return node * plan->qm * plan->qn * plan->qk + local;
}

int dm_plan_used(const dm_plan *plan) {
  return plan->pm * plan->pn * plan->pk;
}

int64_t dm_plan_tiles(const dm_plan *plan) {
  return plan->tiles_m * plan->tiles_n;
}

bool dm_plan_has_runs(const dm_plan *plan) {
  return plan->tiles_m < dm_problem_entries(&plan->problem);
}

int64_t dm_plan_run_entries(const dm_plan *plan, int64_t t) {
  if (!dm_plan_has_runs(plan)) return 1;
  return dm_range_size(dm_split(plan->problem.batch, plan->tiles_m, t, 1));
}

enum { LEAST_ENTRIES = 256 }; /* fewer are a matter of milliseconds one by one, too */

bool dm_runs_suit(const dm_problem *p) {
  const bool files =
      dm_plan_in_file(p, DM_A) && dm_plan_in_file(p, DM_B) && dm_plan_in_file(p, DM_C);
  return files && dm_problem_entries(p) >= LEAST_ENTRIES && !p->reads_c && !p->no_k &&
         dm_entries_are_small(p->batch, dm_problem_entry_rows(p), p->n, p->k) &&
         !dm_dtype_is_integer(p->work) && p->c == p->accumulator &&
         dm_compute_is_plain(&p->compute);
}

int64_t dm_plan_parts(const dm_plan *plan) {
  return dm_min(plan->tiles_m, dm_problem_entries(&plan->problem));
}

/* Rows of tiles in an entry, or a run. */
static int64_t tiles_down(const dm_plan *plan) {
  return plan->tiles_m / dm_plan_parts(plan);
}

int64_t dm_plan_line(const dm_plan *plan) {
  return plan->down ? tiles_down(plan) : plan->tiles_n;
}

int64_t dm_plan_part_tiles(const dm_plan *plan) {
  return tiles_down(plan) * plan->tiles_n;
}

int64_t dm_plan_part_of(const dm_plan *plan, int64_t t) {
  return t / dm_plan_part_tiles(plan);
}

int64_t dm_plan_b_origin(const dm_plan *plan, int64_t t) {
  const int64_t part = dm_plan_part_of(plan, t), entries = dm_problem_entries(&plan->problem);
  return dm_split(entries, dm_plan_parts(plan), part, 1).begin * plan->problem.k;
}

/* All columns, and the rows of so many entries. */
static dm_tile partition_run_of(const dm_plan *plan, int64_t t) {
  const int64_t height = dm_problem_entry_rows(&plan->problem);
  const dm_range entries = dm_split(plan->problem.batch, plan->tiles_m, t, 1);
  return (dm_tile){
      .r = t, .rows = {entries.begin * height, entries.end * height}, .cols = {0, plan->problem.n}};
}

dm_tile dm_plan_tile(const dm_plan *plan, int64_t t) {
  if (dm_plan_has_runs(plan)) return partition_run_of(plan, t);
  const int64_t entry = dm_plan_part_of(plan, t), within = t - entry * dm_plan_part_tiles(plan);
  const int64_t length = dm_plan_line(plan), slow = within / length, at = within % length;
  const int64_t fast = slow % 2 ? length - 1 - at : at;
  const int64_t r = plan->down ? fast : slow, c = plan->down ? slow : fast;
  const int64_t height = dm_problem_entry_rows(&plan->problem), down = tiles_down(plan);
  dm_tile tile = {.r = entry * down + r, .c = c};
  tile.rows = dm_split(height, down, r, partition_step_of(plan));
  tile.rows.begin += entry * height;
  tile.rows.end += entry * height;
  tile.cols = dm_split(plan->problem.n, plan->tiles_n, c, partition_step_of(plan));
  return tile;
}

int64_t dm_plan_tile_at(const dm_plan *plan, int64_t r, int64_t c) {
  const int64_t length = dm_plan_line(plan);
  const int64_t slow = plan->down ? c : r, fast = plan->down ? r : c;
  return slow * length + (slow % 2 ? length - 1 - fast : fast);
}

dm_range dm_plan_rows(const dm_plan *plan, int64_t t, int i) {
  return split_range(dm_plan_tile(plan, t).rows, plan->pm, i, partition_step_of(plan));
}

dm_range dm_plan_cols(const dm_plan *plan, int64_t t, int j) {
  return split_range(dm_plan_tile(plan, t).cols, plan->pn, j, partition_step_of(plan));
}

dm_strip dm_plan_strip(const dm_plan *plan, int i, int64_t strip) {
  const int owner = (int)(strip % plan->pk);
  const dm_range block = dm_plan_rows(plan, 0, i), share = dm_plan_c_share(plan, 0, i, owner);
  /* The rows above a square are complete when those below are mirrored. */
  const bool upwards = plan->problem.symmetry != DM_NO_SYMMETRY;
  const int64_t index = upwards ? plan->strips - 1 - strip / plan->pk : strip / plan->pk;
  const dm_range rows =
      dm_split(dm_range_size(share), plan->strips, index, plan->border > 0 ? plan->border : 1);
  return (dm_strip){.owner = owner, .rows = rows, .from = share.begin - block.begin + rows.begin};
}

int64_t dm_plan_strips(const dm_plan *plan) {
  return (int64_t)plan->strips * plan->pk;
}

dm_range dm_plan_layer(const dm_plan *plan, int l) {
  return dm_split(plan->panels, plan->pk, l, 1);
}

static int partition_layer_of(const dm_plan *plan, int64_t panel) {
  const int64_t each = plan->panels / plan->pk, rest = plan->panels % plan->pk;
  const int64_t longer = rest * (each + 1); /* panels of the layers with one panel more */
  return (int)(panel < longer ? panel / (each + 1) : rest + (panel - longer) / each);
}

int dm_plan_ramp_count(const int64_t ramp[DM_RAMP]) {
  int count = 0;
  while (count < DM_RAMP && ramp[count] > 0) count++;
  return count;
}

/* By how much the first COUNT panels of a layer are narrower than KB, in all. */
static int64_t narrower(int64_t kb, const int64_t ramp[DM_RAMP], int64_t count) {
  int64_t sum = 0;
  for (int i = 0; i < dm_min(count, dm_plan_ramp_count(ramp)); i++) sum += kb - ramp[i];
  return sum;
}

int64_t dm_panels_of(int64_t k, int layers, int64_t kb, const int64_t ramp[DM_RAMP]) {
  return dm_ceil_div(k + layers * narrower(kb, ramp, DM_RAMP), kb);
}

/* The start of panel P in k. */
static int64_t begin_of(const dm_plan *plan, int64_t p) {
  const int64_t kb = plan->kb;
  if (plan->ramp[0] == 0 || p == 0) return dm_min(p * kb, plan->problem.k);
  const int l = partition_layer_of(plan, p - 1);
  const int64_t within = p - dm_plan_layer(plan, l).begin;
  const int64_t less = l * narrower(kb, plan->ramp, DM_RAMP) + narrower(kb, plan->ramp, within);
  return dm_min(p * kb - less, plan->problem.k);
}

static dm_range k_of(const dm_plan *plan, dm_range panels) {
  return (dm_range){begin_of(plan, panels.begin), begin_of(plan, panels.end)};
}

dm_range dm_plan_panel(const dm_plan *plan, int64_t p) {
  return k_of(plan, (dm_range){p, p + 1});
}

dm_range dm_plan_layer_k(const dm_plan *plan, int l) {
  return k_of(plan, dm_plan_layer(plan, l));
}

int64_t dm_plan_width(const dm_plan *plan) {
  return dm_min(plan->kb, plan->problem.k);
}

dm_range dm_plan_a_share(const dm_plan *plan, int64_t t, int i, int j) {
  return split_range(dm_plan_rows(plan, t, i), plan->pn, j, 1);
}

dm_range dm_plan_b_share(const dm_plan *plan, int64_t panel, int i) {
  return split_range(dm_plan_panel(plan, panel), plan->pm, i, 1);
}

dm_range dm_plan_b_panel(const dm_plan *plan, int64_t t, int64_t panel) {
  const int64_t origin = dm_plan_b_origin(plan, t);
  const int64_t more = (dm_plan_run_entries(plan, t) - 1) * plan->problem.k;
  const dm_range k = dm_plan_panel(plan, panel);
  return (dm_range){origin + k.begin, origin + k.end + more};
}

dm_range dm_plan_b_piece(const dm_plan *plan, int64_t t, int64_t panel, int i) {
  return split_range(dm_plan_b_panel(plan, t, panel), plan->pm, i, 1);
}

int64_t dm_plan_b_share_rows(const dm_plan *plan, int i, int l) {
  dm_range panels = dm_plan_layer(plan, l);
  if (dm_range_size(panels) == 0) return 0;
  const int64_t first = panels.begin + dm_plan_ramp_count(plan->ramp); /* of the wide ones */
  int64_t full = dm_range_size(dm_split(plan->kb, plan->pm, i, 1));
  int64_t rows = dm_max(0, panels.end - 1 - first) * full;
  for (int64_t p = panels.begin; p < dm_min(first, panels.end - 1); p++)
    rows += dm_range_size(dm_plan_b_share(plan, p, i));
  return rows + dm_range_size(dm_plan_b_share(plan, panels.end - 1, i));
}

int64_t dm_plan_b_share_most(const dm_plan *plan, int i) {
  return dm_range_size(dm_split(dm_plan_width(plan), plan->pm, i, 1)) *
         dm_plan_run_entries(plan, 0);
}

dm_range dm_plan_c_share(const dm_plan *plan, int64_t t, int i, int l) {
  return split_range(dm_plan_rows(plan, t, i), plan->pk, l, 1);
}

bool dm_plan_fetches_a(const dm_plan *plan) {
  return plan->pn > 1;
}

bool dm_plan_fetches_b(const dm_plan *plan) {
  return plan->pm > 1;
}

bool dm_plan_uploads_a(const dm_plan *plan) {
  return plan->gpu && plan->a != DM_IN_DEVICE;
}

bool dm_plan_uploads_b(const dm_plan *plan) {
  return plan->gpu && plan->b != DM_IN_DEVICE;
}

/* ---- the part of a symmetric C that is computed ---- */

/* Least rows of a square that is computed in full: smaller products are slower than what they save
 * (on GPUs they also take another kernel: backend/cuda_gemm.c). Squares differ by PARTITION_STEP
 * rows. */
enum { LEAST_SQUARE = 512, LEAST_SQUARE_ON_GPU = 2048, PARTITION_STEP = 64 };

static bool partition_is_symmetric(const dm_plan *plan) {
  return plan->problem.symmetry != DM_NO_SYMMETRY;
}

bool dm_triangle_is_square(const dm_plan *plan, int64_t tile, int i, int j) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return partition_is_symmetric(plan) && t.r == t.c && i == j;
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
  if (!partition_is_symmetric(plan) || t.r != t.c || i == j) return part;
  if (i > j)
    part.rows.end = border_of(plan, part.rows);
  else
    part.cols.begin = border_of(plan, part.cols);
  return part;
}

bool dm_triangle_has_image(const dm_plan *plan, int64_t tile, int i, int j) {
  return partition_is_symmetric(plan) && !dm_triangle_is_square(plan, tile, i, j);
}

bool dm_triangle_has_images(const dm_plan *plan) {
  return partition_is_symmetric(plan) && (plan->pm > 1 || plan->tiles_m > 1);
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
static dm_range partition_rows_of(const cut_square *s, int64_t first, int64_t end) {
  const int64_t size = dm_range_size(s->rows), at = s->rows.begin;
  return (dm_range){at + dm_split(size, s->squares, first, s->step).begin,
                    at + dm_split(size, s->squares, end - 1, s->step).end};
}

static dm_status each_of_squares(const cut_square *s, int64_t first, int64_t end) {
  const int64_t middle = first + (end - first) / 2;
  const dm_range all = partition_rows_of(s, first, end);
  if (end - first == 1) return s->take(s->context, (dm_extent){all, all});
  DM_TRY(each_of_squares(s, first, middle));
  DM_TRY(s->take(s->context, (dm_extent){partition_rows_of(s, middle, end),
                                         partition_rows_of(s, first, middle)}));
  return each_of_squares(s, middle, end);
}

/* ROWS, and columns of the same numbers: as many squares as have at least LEAST rows each. */
static dm_status each_of_square(dm_range rows, int64_t least, int64_t step, dm_triangle_taker *take,
                                void *context) {
  const int64_t size = dm_range_size(rows);
  cut_square s = {rows, dm_max(1, size / least), step, take, context};
  while (s.squares > 1 && dm_range_size(dm_split(size, s.squares, s.squares - 1, s.step)) < least)
    s.squares--;
  return each_of_squares(&s, 0, s.squares);
}

dm_status dm_triangle_each(const dm_plan *plan, int64_t tile, int i, int j, dm_range rows,
                           dm_triangle_taker *take, void *context) {
  dm_extent part = dm_triangle_part(plan, tile, i, j);
  part.rows = dm_range_common(part.rows, rows);
  const bool square = dm_triangle_is_square(plan, tile, i, j);
  if (square) part.cols.end = dm_min(part.cols.end, part.rows.begin);
  if (dm_range_size(part.rows) == 0) return DM_OK;
  if (dm_range_size(part.cols) > 0) DM_TRY(take(context, part));
  if (!square) return DM_OK;
  return each_of_square(part.rows, plan->gpu ? LEAST_SQUARE_ON_GPU : LEAST_SQUARE,
                        dm_max(plan->border, PARTITION_STEP), take, context);
}

/* Modes that take operands apart need rows; those of a transposed operand may have other bits. */
static bool takes_transposed(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  return p->symmetry == DM_SYMMETRIC && dm_compute_is_plain(&p->compute) && plan->border == 0;
}

/* GPUs do not conjugate. */
static bool is_copied(const dm_plan *plan) {
  return plan->a != DM_IN_FILE && !(plan->gpu && plan->problem.symmetry == DM_HERMITIAN);
}

bool dm_triangle_reads_once(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const bool whole = plan->pm == 1 && plan->tiles_m == 1 && plan->a == plan->b;
  return partition_is_symmetric(plan) && whole && dm_plan_in_file(p, DM_A) &&
         dm_plan_in_file(p, DM_B) && (takes_transposed(plan) || is_copied(plan)) &&
         (matrix == DM_A ? p->op_a : p->op_b) != DM_OP_N;
}

bool dm_triangle_shares(const dm_plan *plan, dm_matrix matrix) {
  return dm_triangle_reads_once(plan, matrix) && takes_transposed(plan);
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
  return partition_is_symmetric(plan) && t.r < t.c;
}

int64_t dm_triangle_twin(const dm_plan *plan, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  return partition_is_symmetric(plan) ? dm_plan_tile_at(plan, t.c, t.r) : tile;
}

int64_t dm_triangle_tiles(const dm_plan *plan) {
  const int64_t side = plan->tiles_m;
  return partition_is_symmetric(plan) ? side * (side + 1) / 2 : dm_plan_tiles(plan);
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
  if (!partition_is_symmetric(plan)) return 1;
  double most = part_of_block(plan, 0, 0);
  if (plan->pm > 1) most = fmax(most, part_of_block(plan, 1, 0)); /* the others are like these */
  const double diagonal = (double)plan->tiles_m, all = (double)dm_triangle_tiles(plan);
  return (diagonal * most + all - diagonal) / all;
}
