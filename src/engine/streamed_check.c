#include "engine/streamed_check.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "engine/share_check.h"
#include "plan/partition.h"
#include "plan/tiles.h"

/* Rows of op(B) to sample, in runs spread evenly over k; bytes of one strip of them. */
enum {
  STREAMED_CHECK_RUN = 64,
  STREAMED_CHECK_RUNS = 4,
  STREAMED_CHECK_STRIP = DM_BUFFER_SAMPLE_BYTES
};

/* Reads columns COLS of ROWS rows of op(B) from ROW. */
static dm_status sample_run(dm_streamed_check *streamed, const dm_problem *p, const dm_source *b,
                            int64_t row, int64_t rows, dm_range cols, void *memory) {
  const int64_t width = dm_max(1, STREAMED_CHECK_STRIP / (rows * dm_dtype_size(p->work)));
  for (int64_t col = cols.begin; col < cols.end; col += width) {
    dm_view view = dm_view_row_major(memory, p->work, rows, dm_min(width, cols.end - col));
    DM_TRY(b->ops->read_b(b->state, row, col, view));
    DM_TRY(dm_freivalds_scan_b(streamed->check, NULL, view, row, col));
  }
  return DM_OK;
}

static dm_status streamed_check_sample(dm_streamed_check *streamed, dm_run *run,
                                       const dm_problem *p, const dm_source *b, int64_t *rows) {
  const dm_range cols = dm_split(p->n, run->ranks, run->rank, 1);
  const int64_t all = dm_problem_b_rows(p);
  const int64_t runs = all < STREAMED_CHECK_RUN * STREAMED_CHECK_RUNS ? 1 : STREAMED_CHECK_RUNS;
  const int64_t each =
      runs == 1 ? dm_min(all, STREAMED_CHECK_RUN * STREAMED_CHECK_RUNS) : STREAMED_CHECK_RUN;
  DM_FREED void *memory = NULL;
  *rows = runs * each;
  DM_TRY(dm_buffer_alloc(dm_max(STREAMED_CHECK_STRIP, each * dm_dtype_size(p->work)), &memory));
  for (int64_t i = 0; i < runs; i++) {
    int64_t row = runs > 1 ? (int64_t)((double)(all - each) * (double)i / (double)(runs - 1)) : 0;
    DM_TRY(sample_run(streamed, p, b, row, each, cols, memory));
  }
  return DM_OK;
}

static dm_status streamed_check_scan_piece(void *context, dm_backend *backend, dm_view piece,
                                           int64_t panel, int64_t row, int64_t col) {
  const dm_streamed_check *streamed = context;
  (void)panel;
  return dm_freivalds_scan_b(streamed->check, backend, piece, row, col);
}

dm_status dm_streamed_check_sample(dm_streamed_check *streamed, dm_rank_state *local,
                                   const dm_source *b) {
  const dm_problem *problem = &local->plan->problem;
  dm_run *run = local->run;
  int64_t rows = 1;
  dm_status status = DM_OK;
  if (dm_problem_is_exact(problem)) {
  } else if (b->ops->read_b) {
    status = streamed_check_sample(streamed, run, problem, b, &rows);
  } else {
    rows = dm_problem_b_rows(problem);
    status = dm_each_piece(local, DM_B, streamed_check_scan_piece, streamed);
  }
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_freivalds_estimate(streamed->check, run->world, rows);
}

static dm_status streamed_check_sum_up(dm_streamed_check *streamed, const dm_rank_state *local,
                                       int64_t panel) {
  const dm_range k = dm_plan_panel(local->plan, panel);
  return dm_freivalds_sum_panel(streamed->check, local->side,
                                dm_plan_b_origin(local->plan, local->tile) + k.begin,
                                dm_range_size(k), &streamed->sum);
}

/* Every band is scanned once: of B when it passes first, of A when it passes last. In a single tile
 * both hold: all of B has passed then, and B w is summed. That needs all tiles: a resumed run is
 * verified from the files. If the check has no room for B w, each tile's part of it is summed
 * again, and multiplied by A at once: the sums of the tiles are those of all columns. */
static dm_status streamed_check_scan(dm_streamed_check *streamed, dm_rank_state *local,
                                     int64_t panel, bool *done) {
  const bool holds = dm_freivalds_holds_all(streamed->check);
  const bool first = dm_plan_is_first(local->plan, DM_B, local->tile);
  const bool last = dm_plan_is_last(local->plan, DM_A, local->tile);
  *done = true;
  const bool is_summed = streamed->sum.rows > 0;
  if (!holds && !is_summed)
    dm_freivalds_turn_to(streamed->check, dm_plan_b_panel(local->plan, local->tile, panel));
  if (first && !is_summed)
    DM_TRY(dm_check_piece(streamed->check, dm_freivalds_scan_b, local, DM_B, panel));
  if ((first || !holds) && !is_summed)
    DM_TRY(dm_check_piece(streamed->check, dm_freivalds_add_b, local, DM_B, panel));
  if (holds && !last) return DM_OK;
  if ((first || !holds) && !is_summed) DM_TRY(streamed_check_sum_up(streamed, local, panel));
  if (streamed->sum.rows > 0)
    DM_TRY(dm_freivalds_test_panel(streamed->check, &streamed->sum, done));
  if (!*done) return DM_OK;
  return dm_check_piece(streamed->check, dm_freivalds_add_a, local, DM_A, panel);
}

dm_status dm_streamed_check_panel(dm_streamed_check *streamed, dm_rank_state *local, int64_t panel,
                                  bool *done) {
  const double start = dm_now();
  DM_TRY(streamed_check_scan(streamed, local, panel, done));
  local->phases.check += dm_now() - start;
  return DM_OK;
}
