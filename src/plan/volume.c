#include "plan/volume.h"

#include <math.h>

#include "core/checked.h"
#include "plan/partition.h"
#include "plan/tiles.h"

typedef enum axis { AXIS_M, AXIS_N, AXIS_K } axis;

static int64_t volume_size_of(dm_range range) {
  return dm_range_size(range);
}

/* Elements that rank (i, j, l) receives for tile T: of A from its grid row, of B from its grid
 * column, of C from its layers. */
static double received_for(const dm_plan *plan, int64_t t, int i, int j, int l) {
  double rows = (double)volume_size_of(dm_plan_rows(plan, t, i)),
         depth = (double)volume_size_of(dm_plan_layer_k(plan, l));
  double cols = (double)volume_size_of(dm_plan_cols(plan, t, j));
  double a = (rows - (double)volume_size_of(dm_plan_a_share(plan, t, i, j))) * depth;
  double b = (depth - (double)dm_plan_b_share_rows(plan, i, l)) * cols;
  double c = (double)volume_size_of(dm_plan_c_share(plan, t, i, l)) * cols * (plan->pk - 1);
  return a + b + c;
}

/* With more tiles, ranks are assumed to receive for each tile as much as for the first. */
enum { EXACT = 256 };

static double received(const dm_plan *plan, int i, int j, int l) {
  const int64_t tiles = dm_plan_tiles(plan);
  double sum = 0;
  if (tiles > EXACT) return (double)tiles * received_for(plan, 0, i, j, l);
  for (int64_t t = 0; t < tiles; t++) sum += received_for(plan, t, i, j, l);
  return sum;
}

static double most_received(const dm_plan *plan) {
  double most = 0;
  for (int l = 0; l < plan->pk; l++)
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++) most = fmax(most, received(plan, i, j, l));
  return most;
}

/* For tile 0: elements that member X of the group (s, t) along AXIS sends to each other member; for
 * the sum over layers, elements that X receives from each. */
static double volume_piece(const dm_plan *plan, axis along, int s, int t, int x) {
  switch (along) {
  case AXIS_N: /* s = i, t = l: a grid row gathers A */
    return (double)volume_size_of(dm_plan_a_share(plan, 0, s, x)) *
           (double)volume_size_of(dm_plan_layer_k(plan, t));
  case AXIS_M: /* s = j, t = l: a grid column gathers B */
    return (double)dm_plan_b_share_rows(plan, x, t) *
           (double)volume_size_of(dm_plan_cols(plan, 0, s));
  case AXIS_K: /* s = i, t = j: the layers sum C */
    return (double)volume_size_of(dm_plan_c_share(plan, 0, s, x)) *
           (double)volume_size_of(dm_plan_cols(plan, 0, t));
  }
  return 0;
}

static int member(const dm_plan *plan, axis along, int s, int t, int x) {
  switch (along) {
  case AXIS_N:
    return dm_plan_rank(plan, s, x, t);
  case AXIS_M:
    return dm_plan_rank(plan, x, s, t);
  case AXIS_K:
    return dm_plan_rank(plan, s, t, x);
  }
  return 0;
}

/* Elements that the members of one group exchange across nodes. Along an axis ranks only increase,
 * so a node's members are adjacent, and one pass over these runs suffices. */
static double group_crossing(const dm_plan *plan, axis along, int s, int t, int parts,
                             int per_node) {
  double crossing = 0;
  for (int x = 0; x < parts;) {
    int node = member(plan, along, s, t, x) / per_node, first = x;
    double pieces = 0;
    for (; x < parts && member(plan, along, s, t, x) / per_node == node; x++)
      pieces += volume_piece(plan, along, s, t, x);
    crossing += pieces * (parts - (x - first));
  }
  return crossing;
}

static double crossing(const dm_plan *plan, axis along, int per_node) {
  const int parts[3] = {plan->pm, plan->pn, plan->pk};
  const int outer = along == AXIS_M ? plan->pn : plan->pm,
            inner = along == AXIS_K ? plan->pn : plan->pk;
  double sum = 0;
  if (parts[along] == 1) return 0;
  for (int s = 0; s < outer; s++)
    for (int t = 0; t < inner; t++)
      sum += group_crossing(plan, along, s, t, parts[along], per_node);
  return sum;
}

dm_volume dm_plan_volume(const dm_plan *plan, int ranks_per_node) {
  const dm_problem *p = &plan->problem;
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
  const int64_t whole = 16, added = dm_compute_added(&p->compute, p->accumulator, whole);
  const double work = (double)dm_dtype_size(p->work);
  const double sum = (double)(dm_dtype_size(p->accumulator) * added) / (double)whole;
  dm_volume volume = {.most_words = most_received(plan)};
  /* every element reaches all members of its group except its owner, for every tile */
  const double tiles_m = (double)plan->tiles_m, tiles_n = (double)plan->tiles_n;
  volume.total_bytes =
      work * (m * k * (plan->pn - 1) * tiles_n + k * n * (plan->pm - 1) * tiles_m) +
      sum * m * n * (plan->pk - 1);
  if (dm_plan_used(plan) > ranks_per_node)
    volume.between_nodes =
        tiles_m * tiles_n *
        (work * (crossing(plan, AXIS_N, ranks_per_node) + crossing(plan, AXIS_M, ranks_per_node)) +
         sum * crossing(plan, AXIS_K, ranks_per_node));
  return volume;
}

static void volume_order(double *large, double *small) {
  if (*large >= *small) return;
  double swap = *large;
  *large = *small;
  *small = swap;
}

/* Elements that some rank must access, with m >= n >= k: one, two or three dimensions are cut. */
static double touched(double m, double n, double k, double ranks) {
  if (ranks <= m / n) return (m * n + m * k) / ranks + n * k;
  if (ranks <= m * n / (k * k)) return 2 * sqrt(m * n * k * k / ranks) + m * n / ranks;
  return 3 * pow(m * n * k / ranks, 2.0 / 3.0);
}

double dm_bound_words(int64_t m, int64_t n, int64_t k, int64_t ranks, double memory_words) {
  if (ranks <= 1) return 0;
  double large = (double)m, middle = (double)n, small = (double)k, p = (double)ranks;
  volume_order(&large, &middle);
  volume_order(&middle, &small);
  volume_order(&large, &middle);
  double owned = (large * middle + large * small + middle * small) / p;
  double words = fmax(0, touched(large, middle, small, p) - owned);
  if (memory_words > 0) {
    double limited = 2 * large * middle * small / (p * sqrt(memory_words)) - 2 * memory_words;
    words = fmax(words, limited);
  }
  return words;
}

double dm_bound_file_words(int64_t m, int64_t n, int64_t k, double memory_words) {
  const double rows = (double)m, cols = (double)n, depth = (double)k;
  double words = rows * depth + depth * cols + rows * cols;
  if (memory_words > 0)
    words = fmax(words, 2 * rows * cols * depth / sqrt(memory_words) + rows * cols);
  return words;
}

/* ---- runs ---- */

enum {
  VOLUME_PARTS = 4,     /* minimum number of parts of a layer, read one after the other */
  PASS_PARTS = 64,      /* parts of a matrix scanned before the first product, */
  PASS_LEAST = 2 << 20, /* with so many bytes each */
  PASS_MOST = 32 << 20,
};

static const double volume_call = 16384; /* bytes read in the time that one more run costs */

double dm_run_factor(double bytes) {
  return 1 + fmax(0, volume_call / bytes - volume_call / DM_RUN_MOST);
}

/* Whether k runs along the rows of the file: panels are then adjacent in each row. */
static bool volume_is_along(const dm_problem *p, dm_matrix matrix) {
  return matrix == DM_A ? p->op_a == DM_OP_N : p->op_b != DM_OP_N;
}

static int64_t chunk_of(const dm_problem *p, dm_matrix matrix) {
  return matrix == DM_A ? p->chunk_a : p->chunk_b;
}

/* The part of k of one panel that rank (0, 0, 0) owns. */
static int64_t volume_depth_of(const dm_plan *plan, dm_matrix matrix) {
  const int64_t panel = dm_plan_ramp_count(plan->ramp); /* the first one of full width */
  return dm_range_size(matrix == DM_A ? dm_plan_panel(plan, panel)
                                      : dm_plan_b_piece(plan, 0, panel, 0));
}

int64_t dm_plan_run_wanted(const dm_plan *plan) {
  const int64_t row = dm_range_size(dm_plan_layer_k(plan, 0)) * dm_dtype_size(plan->problem.work);
  return dm_min(dm_max(row / VOLUME_PARTS, DM_RUN_LEAST), DM_RUN_MOST);
}

/* The same for the panels that are read together (engine/dataset_source.c). */
static int64_t depth_together(const dm_plan *plan, dm_matrix matrix) {
  const dm_residence where = dm_plan_residence(plan, matrix);
  const bool cut = matrix == DM_B && plan->pm > 1; /* other ranks own the rows between two panels */
  const bool unpacked = chunk_of(&plan->problem, matrix) > 0 && where == DM_IN_DEVICE;
  const int64_t depth = volume_depth_of(plan, matrix);
  const int64_t bytes = depth * dm_dtype_size(plan->problem.work);
  if (!volume_is_along(&plan->problem, matrix) || cut || unpacked || where == DM_IN_FILE)
    return depth;
  return dm_min(dm_range_size(dm_plan_layer_k(plan, 0)),
                dm_ceil_div(dm_plan_run_wanted(plan), bytes) * depth);
}

double dm_plan_together(const dm_plan *plan, dm_matrix matrix) {
  const double all = matrix == DM_A ? (double)dm_range_size(dm_plan_layer_k(plan, 0))
                                    : (double)dm_plan_b_share_rows(plan, 0, 0);
  return fmin(1, (double)depth_together(plan, matrix) / all);
}

double dm_plan_run(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const bool is_a = matrix == DM_A, along = volume_is_along(p, matrix);
  const double size = (double)dm_dtype_size(is_a ? p->file_a : p->file_b);
  const int64_t band =
      dm_range_size(is_a ? dm_plan_a_share(plan, 0, 0, 0) : dm_plan_cols(plan, 0, 0));
  if (chunk_of(p, matrix) > 0) return (double)chunk_of(p, matrix);
  const int64_t row = along ? p->k : is_a ? p->m : p->n;
  const int64_t run = along ? depth_together(plan, matrix) : band;
  const int64_t rows = along ? band : volume_depth_of(plan, matrix);
  return size * (double)run * (run == row ? (double)rows : 1);
}

int64_t dm_plan_pass_bytes(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const int64_t bytes = dm_sat_bytes(matrix == DM_A ? p->m : p->n, p->k, dm_dtype_size(p->work));
  return dm_max(PASS_LEAST, dm_min(PASS_MOST, bytes / PASS_PARTS));
}

int dm_plan_readings_ahead(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  if (!p->compute.scans || !dm_plan_streams(plan) || !dm_plan_in_file(p, matrix)) return 0;
  const bool whole = volume_is_along(p, matrix) && chunk_of(p, matrix) == 0 &&
                     p->k <= dm_plan_pass_bytes(plan, matrix) / dm_dtype_size(p->work);
  return whole ? 1 : 2;
}

double dm_plan_words_ahead(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const double lines = (double)(matrix == DM_A ? p->m : p->n);
  return dm_plan_readings_ahead(plan, matrix) * lines * (double)p->k;
}

/* For a matrix whose rows in the file are cut among PARTS ranks; blocks may be larger by two
 * borders. */
static double least_factor(int64_t chunk, double row, double size, double parts) {
  if (chunk > 0) return dm_run_factor((double)chunk);
  return parts > 1 ? dm_run_factor(size * (ceil(row / parts) + 2 * DM_BORDER)) : 1;
}

double dm_run_floor(const dm_problem *p, int pm, int pn) {
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
  const double depth = (double)dm_problem_b_rows(p);
  const double a = (double)dm_dtype_size(p->file_a), b = (double)dm_dtype_size(p->file_b);
  const double cuts_a = p->op_a == DM_OP_N ? 1 : (double)pm * pn; /* along k: panels may be wide */
  const double cuts_b = p->op_b == DM_OP_N ? pn : 1;
  const double of_a = m * k * a * least_factor(p->chunk_a, m, a, cuts_a);
  const double of_b = depth * n * b * least_factor(p->chunk_b, n, b, cuts_b);
  return (dm_plan_in_file(p, DM_A) ? of_a : 0) + (dm_plan_in_file(p, DM_B) ? of_b : 0);
}
