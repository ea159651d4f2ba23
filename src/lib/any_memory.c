#include "core/checked.h"
#include "engine/finish.h"
#include "lib/any_product.h"
#include "plan/partition.h"

bool dm_any_is_direct(const dm_any_product *p, dm_matrix matrix) {
  const dm_given *given = &p->given[matrix];
  const dm_view *view = &given->memory.local;
  return p->run->ranks == 1 && given->memory.backend && view->col_stride == 1 &&
         view->dtype == p->setup.plan.problem.work &&
         (given->op != DM_OP_C || !dm_dtype_is_complex(view->dtype)) &&
         dm_plan_brings(&p->setup.plan, matrix);
}

static dm_view direct_piece(const dm_given *given, const dm_rank_state *local, dm_matrix matrix,
                            int64_t panel) {
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const dm_range cols = dm_rank_piece_cols(local, matrix, panel);
  return dm_view_sub(given->memory.local, rows.begin, cols.begin, dm_range_size(rows),
                     dm_range_size(cols));
}

dm_view dm_any_piece(void *context, const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_any_product *p = context;
  if (dm_any_is_direct(p, matrix)) return direct_piece(&p->given[matrix], local, matrix, panel);
  return p->pieces[matrix] ? dm_memory_piece(local, matrix, panel, p->pieces[matrix])
                           : dm_rank_piece(local, matrix, panel);
}

dm_view dm_any_sums(void *context, const dm_rank_state *local) {
  const dm_any_product *p = context;
  dm_range rows;
  const dm_view sums = dm_rank_result(local, &rows);
  if (!p->sums) return sums;
  return dm_view_row_major(p->sums, local->plan->problem.c, dm_range_size(rows),
                           dm_range_size(local->cols));
}

/* If C arrives in memory, its old elements are already there. */
bool dm_any_finishes_here(const dm_any_product *p) {
  return p->result.in_file || (p->problem.reads_c && !p->posed->old_is_c);
}

static dm_status take_pieces(dm_any_product *p, dm_rank_state *local) {
  for (int x = 0; x < 2; x++) {
    int64_t bytes;
    if (!dm_plan_brings(local->plan, (dm_matrix)x) || dm_any_is_direct(p, (dm_matrix)x)) continue;
    DM_TRY(dm_memory_pieces_bytes(local, (dm_matrix)x, &bytes));
    DM_TRY(dm_rank_memory_take_bytes(&local->memory,
                                     x == DM_A ? DM_BUFFER_HOME_A : DM_BUFFER_HOME_B, bytes,
                                     (void **)&p->pieces[x]));
  }
  return DM_OK;
}

static bool is_finished_apart(const dm_any_product *p) {
  const dm_problem *problem = &p->problem;
  return !dm_finish_is_identity(problem->c, problem->accumulator, problem->reads_c,
                                p->job.equation.alpha);
}

static int old_bytes(const dm_any_product *p) {
  return p->problem.reads_c ? (int)dm_dtype_size(dm_dtype_widest(p->problem.work)) : 0;
}

int dm_any_finish_bytes(const dm_any_product *p) {
  if (!dm_any_finishes_here(p) || !is_finished_apart(p)) return 0;
  return old_bytes(p) + (int)dm_dtype_size(p->problem.c);
}

/* Memory for the old elements, which are wider, followed by those of C. */
static dm_status take_finished(dm_any_product *p, dm_rank_state *local, int64_t elements) {
  char *memory;
  if (dm_any_finish_bytes(p) == 0) return DM_OK;
  DM_TRY(dm_rank_memory_take_bytes(&local->memory, DM_BUFFER_FINISHED_HOME,
                                   elements * dm_any_finish_bytes(p), (void **)&memory));
  if (p->problem.reads_c) p->old = memory;
  p->finished = memory + elements * old_bytes(p);
  return DM_OK;
}

dm_status dm_any_take_memory(dm_any_product *p) {
  dm_rank_state *local = &p->product.local;
  dm_range rows;
  int64_t elements;
  if (local->coords.idle) return DM_OK;
  dm_rank_turn_to(local, 0);
  (void)dm_rank_result(local, &rows); /* there is no view before the layers are summed */
  DM_TRY(dm_bytes_of(dm_range_size(rows), dm_range_size(local->cols), 1, &elements));
  DM_TRY(take_pieces(p, local));
  if (local->plan->gpu)
    DM_TRY(dm_rank_memory_take_bytes(&local->memory, DM_BUFFER_HOME_C,
                                     elements * dm_dtype_size(p->problem.accumulator),
                                     (void **)&p->sums));
  return take_finished(p, local, elements);
}
