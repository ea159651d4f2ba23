#include "product/verify.h"

#include "check/freivalds.h"
#include "check/verdict.h"
#include "core/buffer.h"
#include "core/checked.h"

/* ---- rows of C together ---- */

enum { PARTS_OF_B = 16, CHUNKS = 8 };

static dm_status check_rows(dm_run *run, const dm_verify *v, const dm_problem *p, dm_range rows,
                            dm_freivalds *check, dm_verdict *found) {
  dm_freivalds_turn_to_rows(check, rows);
  dm_verify_prepare(v, rows, check);
  DM_TRY(dm_verify_gather(run, v, p, rows, &check, 1));
  return dm_freivalds_judge(check, run->world, found);
}

void dm_verify_join_rows(dm_verdict *verdict, const dm_verdict *found) {
  const int64_t checked = dm_min(verdict->cols_checked, found->cols_checked);
  const int64_t left_out = dm_max(verdict->cols_left_out, found->cols_left_out);
  dm_verdict_join(verdict, found, 0);
  verdict->cols_checked = checked;
  verdict->cols_left_out = left_out;
}

int64_t dm_verify_rows_together(const dm_problem *p, int64_t chunk_rows) {
  const double of_b = (double)p->k * (double)p->n / (double)(p->k + p->n);
  const double least = fmax((double)DM_BUFFER_CHECKED_ROWS, PARTS_OF_B * of_b);
  const double most = fmax(least, CHUNKS * (double)chunk_rows);
  return p->half == DM_BOTH_HALVES && most < (double)p->m ? (int64_t)most : dm_max(1, p->m);
}

/* With the same random vector. */
static dm_status check_all_rows(dm_run *run, const dm_verify *verify, const dm_problem *p,
                                dm_freivalds *check, int64_t most, dm_verdict *verdict) {
  dm_verify v = *verify;
  for (int64_t first = 0; first == 0 || first < p->m; first += most) { /* also of no rows */
    const dm_range rows = {first, dm_min(p->m, first + most)};
    dm_verdict found;
    DM_TRY(check_rows(run, &v, p, rows, check, &found));
    if (first == 0)
      *verdict = found;
    else
      dm_verify_join_rows(verdict, &found);
    v.seed = (dm_check_seed){.stated = true, .value = verdict->seed - (uint64_t)v.draw};
  }
  return DM_OK;
}

static dm_status open_residual(const dm_verify *v, const dm_problem *p, int64_t most,
                               uint8_t **wrong, dm_freivalds **check) {
  const dm_equation *e = &v->equation;
  if (!v->wrong) DM_TRY(dm_buffer_table(dm_max(1, p->m), wrong));
  return dm_freivalds_new_part(p, e->alpha, e->beta, v->from_gpu, (dm_extent){{0, most}, {0, p->n}},
                               dm_verify_room(v, p), check);
}

dm_status dm_verify_residual(dm_run *run, const dm_verify *verify, const dm_problem *p,
                             dm_verdict *verdict) {
  dm_verify marking = *verify;
  const dm_verify *v = &marking;
  const int64_t of_a = v->equation.op_a == DM_OP_N ? v->a.chunk_rows : v->a.chunk_cols;
  const int64_t most = dm_verify_rows_together(p, dm_max(of_a, v->c.chunk_rows));
  dm_freivalds *check = NULL;
  DM_FREED uint8_t *wrong = NULL;
  DM_TRY(dm_comm_agree(run->world, open_residual(v, p, most, &wrong, &check)));
  if (!v->wrong) marking.wrong = wrong;
  dm_status status = check_all_rows(run, v, p, check, most, verdict);
  dm_freivalds_free(check);
  if (!status && (!verdict->pass || verdict->suspect))
    status = dm_verify_doubts(run, v, p, v->wrong, verdict);
  DM_TRY(status);
  if (!verdict->strained) return dm_verify_nan(run, v, p, verdict);
  return dm_verify_each_entry(run, v, p, dm_verify_scaled, verdict);
}

/* ---- entries ---- */

/* PARTS become those of V's entry, of its matrices in memory, and stand for them. */
static dm_status verify_take_entry(dm_verify *v, dm_distributed parts[4]) {
  for (int x = 0; x < 4; x++) {
    const dm_distributed *whole = v->memory[x];
    if (!whole) continue;
    const dm_extent extent = {dm_split(whole->of.rows.total, v->entries, v->entry, 1),
                              {0, whole->of.cols.total}};
    DM_TRY(dm_distributed_part(whole, extent, &parts[x]));
    v->memory[x] = &parts[x];
  }
  return DM_OK;
}

static dm_status verify_entry(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                              dm_verify_one *one, dm_verdict *found) {
  dm_distributed parts[4] = {0};
  dm_verify v = *verify;
  dm_status status = dm_comm_agree(run->world, verify_take_entry(&v, parts));
  if (v.wrong) v.wrong += v.entry * problem->m;
  if (!status) status = one(run, &v, problem, found);
  for (int x = 0; x < 4; x++) dm_distributed_close(&parts[x]);
  return status;
}

dm_status dm_verify_each_entry(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                               dm_verify_one *one, dm_verdict *verdict) {
  dm_verify v = *verify;
  dm_problem p = *problem;
  v.entries = dm_problem_entries(problem);
  if (v.entries == 1) return one(run, verify, problem, verdict);
  p.m = dm_problem_entry_rows(problem);
  p.batch = 0;
  for (; v.entry < v.entries; v.entry++) {
    dm_verdict found;
    if (v.strained && !v.strained[v.entry]) continue;
    DM_TRY(verify_entry(run, &v, &p, one, &found));
    if (v.entry == 0 && !v.strained)
      *verdict = found;
    else
      dm_verdict_join(verdict, &found, v.entry * p.m);
  }
  return DM_OK;
}
