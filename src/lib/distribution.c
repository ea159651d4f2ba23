#include "lib/distribution.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

static dm_status axis_open(int64_t total, int parts, int64_t most, dm_axis *axis) {
  *axis = (dm_axis){.total = total, .parts = parts};
  return dm_buffer_table(dm_max(1, most), &axis->runs);
}

/* What is empty is left out: SIZE elements of PART. */
static void axis_add(dm_axis *axis, int64_t begin, int64_t size, int part, int64_t local) {
  if (size > 0) axis->runs[axis->count++] = (dm_axis_run){begin, part, local};
}

dm_status dm_axis_cyclic(int64_t total, int64_t block, int parts, int first, dm_axis *axis) {
  const int64_t blocks = dm_ceil_div(total, block);
  DM_TRY(axis_open(total, parts, blocks, axis));
  for (int64_t b = 0; b < blocks; b++)
    axis_add(axis, b * block, dm_min(block, total - b * block), (int)((b + first) % parts),
             b / parts * block);
  return DM_OK;
}

dm_status dm_axis_of_sizes(const int64_t *sizes, int parts, dm_axis *axis) {
  int64_t total = 0;
  for (int p = 0; p < parts; p++)
    if (sizes[p] < 0 || dm_add_overflows(total, sizes[p], &total))
      return dm_fail(DM_E_USAGE, "rank %d states %lld rows", p, (long long)sizes[p]);
  DM_TRY(axis_open(total, parts, parts, axis));
  for (int64_t p = 0, at = 0; p < parts; at += sizes[p++]) axis_add(axis, at, sizes[p], (int)p, 0);
  return DM_OK;
}

dm_status dm_distribution_ranks(dm_distribution *of) {
  of->row_step = of->cols.parts;
  of->col_step = 1;
  return dm_buffer_table((int64_t)of->rows.parts * of->cols.parts, &of->ranks);
}

/* ---- of a plan ---- */

static dm_status rows_of_a(const dm_plan *plan, dm_axis *axis) {
  DM_TRY(axis_open(plan->problem.m, plan->pm * plan->pn, (int64_t)plan->pm * plan->pn, axis));
  for (int i = 0; i < plan->pm; i++)
    for (int j = 0; j < plan->pn; j++) {
      const dm_range rows = dm_plan_a_share(plan, 0, i, j);
      axis_add(axis, rows.begin, dm_range_size(rows), i * plan->pn + j, 0);
    }
  return DM_OK;
}

static dm_status rows_of_c(const dm_plan *plan, dm_axis *axis) {
  DM_TRY(axis_open(plan->problem.m, plan->pm * plan->pk, (int64_t)plan->pm * plan->pk, axis));
  for (int i = 0; i < plan->pm; i++)
    for (int l = 0; l < plan->pk; l++) {
      const dm_range rows = dm_plan_c_share(plan, 0, i, l);
      axis_add(axis, rows.begin, dm_range_size(rows), i * plan->pk + l, 0);
    }
  return DM_OK;
}

static dm_status cols_of_c(const dm_plan *plan, dm_axis *axis) {
  DM_TRY(axis_open(plan->problem.n, plan->pn, plan->pn, axis));
  for (int j = 0; j < plan->pn; j++) {
    const dm_range cols = dm_plan_cols(plan, 0, j);
    axis_add(axis, cols.begin, dm_range_size(cols), j, 0);
  }
  return DM_OK;
}

/* By layers; among SHARERS ranks, inside each panel, where there are several. */
static dm_status along_k(const dm_plan *plan, int sharers, dm_axis *axis) {
  DM_TRY(axis_open(plan->problem.k, plan->pk * sharers, plan->panels * sharers, axis));
  for (int l = 0; l < plan->pk; l++) {
    const dm_range panels = dm_plan_layer(plan, l);
    for (int64_t p = panels.begin; p < panels.end; p++)
      for (int i = 0; i < sharers; i++) {
        const dm_range k = sharers > 1 ? dm_plan_b_share(plan, p, i) : dm_plan_panel(plan, p);
        axis_add(axis, k.begin, dm_range_size(k), l * sharers + i, p);
      }
  }
  return DM_OK;
}

static dm_status axes_of_plan(const dm_plan *plan, int matrix, dm_distribution *of) {
  if (matrix == DM_A) {
    DM_TRY(rows_of_a(plan, &of->rows));
    return along_k(plan, 1, &of->cols);
  }
  DM_TRY(cols_of_c(plan, &of->cols));
  return matrix == DM_B ? along_k(plan, plan->pm, &of->rows) : rows_of_c(plan, &of->rows);
}

static int rank_in_plan(const dm_plan *plan, int matrix, int row, int col) {
  if (matrix == DM_A) return dm_plan_rank(plan, row / plan->pn, row % plan->pn, col);
  if (matrix == DM_B) return dm_plan_rank(plan, row % plan->pm, col, row / plan->pm);
  return dm_plan_rank(plan, row / plan->pk, col, row % plan->pk);
}

dm_status dm_distribution_of_plan(const dm_plan *plan, int matrix, dm_distribution *of) {
  DM_TRY(axes_of_plan(plan, matrix, of));
  DM_TRY(dm_distribution_ranks(of));
  for (int r = 0; r < of->rows.parts; r++)
    for (int c = 0; c < of->cols.parts; c++)
      of->ranks[r * of->row_step + c] = rank_in_plan(plan, matrix, r, c);
  return DM_OK;
}

/* ---- all ---- */

bool dm_distribution_parts(const dm_distribution *of, int rank, int *row_part, int *col_part) {
  for (int r = 0; r < of->rows.parts; r++)
    for (int c = 0; c < of->cols.parts; c++)
      if (dm_distribution_rank(of, r, c) == rank) {
        *row_part = r;
        *col_part = c;
        return true;
      }
  return false;
}

int64_t dm_axis_size(const dm_axis *axis, int part) {
  int64_t size = 0;
  for (int64_t run = 0; run < axis->count; run++)
    if (axis->runs[run].part == part) size += dm_axis_end(axis, run) - axis->runs[run].begin;
  return size;
}

void dm_distribution_transpose(dm_distribution *of) {
  const dm_axis rows = of->rows;
  const int row_step = of->row_step;
  of->rows = of->cols;
  of->cols = rows;
  of->row_step = of->col_step;
  of->col_step = row_step;
}

void dm_distribution_free(dm_distribution *of) {
  free(of->rows.runs);
  free(of->cols.runs);
  free(of->ranks);
  *of = (dm_distribution){0};
}
