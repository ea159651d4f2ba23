#include "plan/runs.h"

#include <math.h>

#include "core/checked.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum {
  PARTS = 4,            /* minimum number of parts of a layer, read one after the other */
  PASS_PARTS = 64,      /* parts of a matrix scanned before the first product, */
  PASS_LEAST = 2 << 20, /* with so many bytes each */
  PASS_MOST = 32 << 20,
};

static const double call = 16384; /* bytes read in the time that one more run costs */

double dm_run_factor(double bytes) {
  return 1 + fmax(0, call / bytes - call / DM_RUN_MOST);
}

/* Whether k runs along the rows of the file: panels are then adjacent in each row. */
static bool is_along(const dm_problem *p, dm_matrix matrix) {
  return matrix == DM_A ? p->op_a == DM_OP_N : p->op_b != DM_OP_N;
}

static int64_t chunk_of(const dm_problem *p, dm_matrix matrix) {
  return matrix == DM_A ? p->chunk_a : p->chunk_b;
}

/* The part of k of one panel that rank (0, 0, 0) owns. */
static int64_t depth_of(const dm_plan *plan, dm_matrix matrix) {
  const int64_t panel = dm_plan_ramp_count(plan->ramp); /* the first one of full width */
  return dm_range_size(matrix == DM_A ? dm_plan_panel(plan, panel)
                                      : dm_plan_b_share(plan, panel, 0));
}

int64_t dm_plan_run_wanted(const dm_plan *plan) {
  const int64_t row = dm_range_size(dm_plan_layer_k(plan, 0)) * dm_dtype_size(plan->problem.work);
  return dm_min(dm_max(row / PARTS, DM_RUN_LEAST), DM_RUN_MOST);
}

/* The same for the panels that are read together (engine/prefetch.c). */
static int64_t depth_together(const dm_plan *plan, dm_matrix matrix) {
  const dm_residence where = dm_plan_residence(plan, matrix);
  const bool cut = matrix == DM_B && plan->pm > 1; /* other ranks own the rows between two panels */
  const bool unpacked = chunk_of(&plan->problem, matrix) > 0 && where == DM_IN_DEVICE;
  const int64_t depth = depth_of(plan, matrix);
  const int64_t bytes = depth * dm_dtype_size(plan->problem.work);
  if (!is_along(&plan->problem, matrix) || cut || unpacked || where == DM_IN_FILE) return depth;
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
  const bool is_a = matrix == DM_A, along = is_along(p, matrix);
  const double size = (double)dm_dtype_size(is_a ? p->file_a : p->file_b);
  const int64_t band =
      dm_range_size(is_a ? dm_plan_a_share(plan, 0, 0, 0) : dm_plan_cols(plan, 0, 0));
  if (chunk_of(p, matrix) > 0) return (double)chunk_of(p, matrix);
  const int64_t row = along ? p->k : is_a ? p->m : p->n;
  const int64_t run = along ? depth_together(plan, matrix) : band;
  const int64_t rows = along ? band : depth_of(plan, matrix);
  return size * (double)run * (run == row ? (double)rows : 1);
}

int64_t dm_plan_pass_bytes(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const int64_t bytes = dm_packed(matrix == DM_A ? p->m : p->n, p->k, dm_dtype_size(p->work));
  return dm_max(PASS_LEAST, dm_min(PASS_MOST, bytes / PASS_PARTS));
}

int dm_plan_readings_ahead(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  if (!p->compute.scans || !dm_plan_streams(plan) || !dm_plan_in_file(p, matrix)) return 0;
  const bool whole = is_along(p, matrix) && chunk_of(p, matrix) == 0 &&
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
