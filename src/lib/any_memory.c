#include <stdlib.h>

#include "core/buffer.h"
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

/* Where C arrives in memory, its old elements are there already. */
bool dm_any_finishes_here(const dm_any_product *p) {
  return p->result.in_file || (p->problem.reads_c && !p->posed->old_is_c);
}

static dm_status take_pieces(dm_any_product *p, const dm_rank_state *local) {
  for (int x = 0; x < 2; x++) {
    int64_t bytes;
    if (!dm_plan_brings(local->plan, (dm_matrix)x) || dm_any_is_direct(p, (dm_matrix)x)) continue;
    DM_TRY(dm_memory_pieces_bytes(local, (dm_matrix)x, &bytes));
    DM_TRY(dm_backend_alloc(local->backend, DM_HOST, bytes, (void **)&p->pieces[x]));
  }
  return DM_OK;
}

static dm_status take_for(const dm_rank_state *local, dm_range rows, dm_dtype type, void **memory) {
  int64_t bytes;
  DM_TRY(dm_bytes_of(dm_range_size(rows), dm_range_size(local->cols), dm_dtype_size(type), &bytes));
  return dm_buffer_alloc(bytes, memory);
}

dm_status dm_any_take_memory(dm_any_product *p) {
  dm_rank_state *local = &p->product.local;
  const dm_problem *problem = &p->problem;
  dm_range rows;
  int64_t bytes;
  if (local->coords.idle) return DM_OK;
  dm_rank_turn_to(local, 0);
  (void)dm_rank_result(local, &rows); /* which has no view before layers are summed */
  DM_TRY(take_pieces(p, local));
  if (local->plan->gpu) {
    DM_TRY(dm_bytes_of(dm_range_size(rows), dm_range_size(local->cols),
                       dm_dtype_size(problem->accumulator), &bytes));
    DM_TRY(dm_backend_alloc(local->backend, DM_HOST, bytes, (void **)&p->sums));
  }
  if (!dm_any_finishes_here(p)) return DM_OK;
  if (problem->reads_c)
    DM_TRY(take_for(local, rows, dm_dtype_widest(problem->work), (void **)&p->old));
  if (dm_finish_is_identity(problem->c, problem->accumulator, problem->reads_c,
                            p->job.equation.alpha))
    return DM_OK;
  return take_for(local, rows, problem->c, (void **)&p->finished);
}

void dm_any_free_memory(dm_any_product *p) {
  for (int x = 0; x < 2; x++)
    if (p->pieces[x]) dm_backend_release(p->setup.backend, DM_HOST, p->pieces[x]);
  if (p->sums) dm_backend_release(p->setup.backend, DM_HOST, p->sums);
  free(p->old);
  free(p->finished);
}
