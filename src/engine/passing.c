#include "engine/passing.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* Rows of op(B) that are sampled, in runs spread evenly over k; bytes of one strip of them. */
enum { RUN = 64, RUNS = 4, STRIP = 1 << 20 };

/* Columns COLS of ROWS rows of op(B) from ROW. */
static dm_status sample_run(dm_passing *passing, const dm_problem *p, dm_source *b, int64_t row,
                            int64_t rows, dm_range cols, void *memory) {
  const int64_t width = dm_max(1, STRIP / (rows * dm_dtype_size(p->work)));
  for (int64_t col = cols.begin; col < cols.end; col += width) {
    dm_view view = dm_view_row_major(memory, p->work, rows, dm_min(width, cols.end - col));
    DM_TRY(dm_load_part(b, row, col, view));
    DM_TRY(dm_freivalds_scan_b(passing->check, NULL, view, row, col));
  }
  return DM_OK;
}

static dm_status sample(dm_passing *passing, dm_run *run, const dm_problem *p, dm_source *b,
                        int64_t *rows) {
  const dm_range cols = dm_split(p->n, run->ranks, run->rank, 1);
  const int64_t runs = p->k < RUN * RUNS ? 1 : RUNS;
  const int64_t each = runs == 1 ? dm_min(p->k, RUN * RUNS) : RUN;
  void *memory;
  *rows = runs * each;
  DM_TRY(dm_buffer_alloc(dm_max(STRIP, each * dm_dtype_size(p->work)), &memory));
  dm_status status = DM_OK;
  for (int64_t i = 0; i < runs && !status; i++) {
    int64_t row = runs > 1 ? (int64_t)((double)(p->k - each) * (double)i / (double)(runs - 1)) : 0;
    status = sample_run(passing, p, b, row, each, cols, memory);
  }
  free(memory);
  return status;
}

dm_status dm_passing_sample(dm_passing *passing, dm_run *run, const dm_problem *problem,
                            dm_source *b) {
  int64_t rows = 1;
  dm_status status = DM_OK;
  if (!dm_dtype_is_integer(problem->work)) status = sample(passing, run, problem, b, &rows);
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_freivalds_estimate(passing->check, run->world, rows);
}

static dm_status add_b(dm_passing *passing, dm_task *task, int64_t panel) {
  const dm_view piece = dm_task_piece(task, DM_B, panel);
  const int64_t row = dm_task_piece_rows(task, DM_B, panel).begin;
  const int64_t col = dm_task_piece_cols(task, DM_B, panel).begin;
  DM_TRY(dm_freivalds_scan_b(passing->check, task->backend, piece, row, col));
  return dm_freivalds_add_b(passing->check, task->backend, piece, row, col);
}

static dm_status add_a(dm_passing *passing, dm_task *task, int64_t panel) {
  return dm_freivalds_add_a(passing->check, task->backend, dm_task_piece(task, DM_A, panel),
                            dm_task_piece_rows(task, DM_A, panel).begin,
                            dm_task_piece_cols(task, DM_A, panel).begin);
}

static dm_status sum_up(dm_passing *passing, const dm_task *task, int64_t panel) {
  const dm_range k = dm_plan_panel(task->plan, panel);
  return dm_freivalds_sum_panel(passing->check, task->side, k.begin, dm_range_size(k),
                                &passing->sum);
}

/* Every band is looked at once: of B where it passes for the first time, of A where it passes for
 * the last.  In one tile both are so: all of B has passed then, and B w is summed up.  That needs
 * all tiles: a run that resumes another is judged by the files. */
static dm_status look(dm_passing *passing, dm_task *task, int64_t panel, bool *done) {
  const bool first = dm_plan_is_first(task->plan, DM_B, task->tile);
  const bool last = dm_plan_is_last(task->plan, DM_A, task->tile);
  *done = true;
  if (first && !passing->sum) DM_TRY(add_b(passing, task, panel));
  if (!last) return DM_OK;
  if (first && !passing->sum) DM_TRY(sum_up(passing, task, panel));
  if (passing->sum) DM_TRY(dm_comm_sum_test(passing->sum, done));
  if (!*done) return DM_OK;
  passing->sum = NULL;
  return add_a(passing, task, panel);
}

dm_status dm_passing_check(dm_passing *passing, dm_task *task, int64_t panel, bool *done) {
  const double start = dm_now();
  DM_TRY(look(passing, task, panel, done));
  task->phases.check += dm_now() - start;
  return DM_OK;
}
