/* The verdict on C: how it is verified is chosen with the plan, and done when C is complete. */
#include <string.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/copy.h"
#include "engine/alpha_beta.h"
#include "engine/share_check.h"
#include "plan/tiles.h"
#include "product/multiply_impl.h"
#include "product/repair.h"
#include "product/verify.h"

/* ---- before the products ---- */

/* Runs of entries are verified one by one, with alpha, which is not applied again. */
static void judge_open_runs(dm_job *j) {
  dm_problem *p = &j->setup.plan.problem;
  const double *alpha = j->multiply->equation.alpha;
  const bool zero = alpha[0] == 0.0 && alpha[1] == 0.0; /* bounds would vanish */
  j->runs = (dm_run_products){.alpha = {1.0, 0.0},
                              .verify = p->verify,
                              .seed = j->multiply->seed,
                              .draw = j->repair->round};
  if (!zero) memcpy(j->runs.alpha, alpha, sizeof j->runs.alpha);
  if (!zero) memcpy(j->sink.alpha, (const double[2]){1.0, 0.0}, sizeof j->sink.alpha);
  p->verify = false;
}

/* A streamed check needs all of B before the last tile of a row of tiles, but half of a symmetric C
 * has rows without all of B's columns: it is verified from its file. */
void dm_judge_choose(dm_job *j) {
  dm_plan *plan = &j->setup.plan;
  if (j->problem.verify && !plan->problem.verify) /* dm_plan_verifies_later */
    j->basis = DM_BASIS_REREAD;
  if (dm_plan_has_runs(plan)) {
    judge_open_runs(j);
    return;
  }
  if (plan->problem.symmetry == DM_NO_SYMMETRY || dm_plan_tiles(plan) == 1 ||
      !dm_plan_streams(plan) || !plan->problem.verify)
    return;
  j->basis = DM_BASIS_REREAD;
  plan->problem.verify = false;
}

dm_status dm_judge_open(dm_job *j) {
  static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_equation *e = &j->multiply->equation;
  const bool sums =
      dm_job_in_memory(j, DM_C) && (j->held || dm_job_is_moved(j, DM_C) || dm_job_replaces_old(j));
  dm_plan plan = j->setup.plan;
  if (!plan.problem.verify) return DM_OK;
  plan.problem.half = DM_BOTH_HALVES; /* which are there until one is stored */
  if (sums) {
    plan.problem.c = plan.problem.accumulator;
    plan.problem.reads_c = plan.problem.scales = false;
  }
  DM_TRY(dm_check_new(j->run, &plan, sums ? one : e->alpha, sums ? zero : e->beta, &j->check));
  dm_freivalds_repeat(j->check, j->multiply->seed, j->repair->round);
  if (j->multiply->a.centering || j->multiply->b.centering)
    j->expects_nan = dm_verify_expect_nan(&j->multiply->a, &j->multiply->b, e, j->check);
  if (sums) j->basis = DM_BASIS_SUMS;
  j->sink.of_sums = sums;
  j->sink.check = j->sink.holds ? NULL : j->check;
  j->result.check = j->check;
  return DM_OK;
}

/* ---- what can be read again ---- */

enum { STRIPS_OF_MEMORY = 32 }; /* two of them, beside what the plan has counted */

static dm_status judge_sources(const dm_job *j, dm_verify *verify) {
  const dm_multiply *m = j->multiply;
  *verify = (dm_verify){.a = m->a,
                        .b = m->b,
                        .has_c0 = m->has_c,
                        .c0 = m->c,
                        .equation = m->equation,
                        .from_gpu = j->setup.plan.gpu,
                        .norm = -1.0,
                        .io_threads = m->engine.io_threads,
                        .strip = dm_max(1 << 20, j->setup.machine.host_bytes / STRIPS_OF_MEMORY),
                        .seed = m->seed,
                        .draw = j->repair->round};
  for (int x = 0; x < 4; x++)
    if (dm_job_in_memory(j, x) && (x == DM_C || !dm_job_in_file(j, x)))
      verify->memory[x] = &j->memory[x];
  if (dm_job_in_memory(j, DM_C)) return DM_OK;
  return dm_comm_agree(j->run->world, dm_output_part(&j->file, &verify->c));
}

/* Whether C and all it was computed from can be read again. */
static bool judge_may_reread(const dm_job *j) {
  return !dm_job_in_memory(j, DM_C) || (!j->held && !dm_job_replaces_old(j));
}

/* Reads the matrices, if the panels seen cannot give a verdict, or C has tiles of an earlier round.
 * OLD replaces the old C, unless it is NULL. */
static dm_status judge_reread(const dm_job *j, bool scaled, const dm_distributed *old,
                              dm_verdict *verdict) {
  const dm_problem *p = &j->setup.plan.problem;
  dm_verify verify;
  DM_TRY(judge_sources(j, &verify));
  if (old) verify.memory[DM_OLD] = old;
  return scaled ? dm_verify_each_entry(j->run, &verify, p, dm_verify_scaled, verdict)
                : dm_verify_residual(j->run, &verify, p, verdict);
}

static void judge_tell(const dm_job *j, const char *why) {
  dm_log_line(&j->run->log, DM_LOG_NOTE, "%s: the matrices are read again", why);
}

/* Whether C's elements are other numbers than the sums that were verified. */
static bool judge_is_finished(const dm_job *j) {
  const dm_problem *p = &j->problem;
  return j->basis == DM_BASIS_SUMS &&
         !dm_alpha_beta_is_identity(p->c, p->accumulator, p->reads_c, j->multiply->equation.alpha);
}

/* Looks at the rows and columns of C that must be NaN, and for others. */
static dm_status judge_nan(dm_job *j, dm_verdict *verdict) {
  dm_verify verify;
  if (!verdict->pass || verdict->strained || !(j->expects_nan || judge_is_finished(j)))
    return DM_OK;
  if (dm_job_in_memory(j, DM_C)) DM_TRY(dm_job_deliver(j));
  DM_TRY(judge_sources(j, &verify));
  if (j->expects_nan) DM_TRY(dm_verify_nan(j->run, &verify, &j->setup.plan.problem, verdict));
  return judge_is_finished(j) ? dm_verify_finished(j->run, &verify, &j->problem, verdict) : DM_OK;
}

/* Whether other elements of C arrived than left the GPU, on any rank. */
static dm_status judge_find_changes(const dm_job *j, bool *differs) {
  int64_t differ = j->sink.differs;
  DM_TRY(dm_comm_sum_i64(j->run->world, &differ, 1));
  *differs = differ > 0;
  if (*differs)
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "C changed on its way from the GPU on %lld ranks: it is verified again",
                (long long)differ);
  return DM_OK;
}

/* C in memory was verified on the GPU, where what left it was summed: if that is not what arrived,
 * the latter is verified. */
static dm_status judge_arrived(dm_job *j, dm_verdict *verdict) {
  bool differs = false;
  if (!j->sink.holds || !j->setup.plan.gpu || !verdict->pass) return DM_OK;
  DM_TRY(dm_comm_agree(j->run->world, dm_job_unchanged(j)));
  DM_TRY(dm_job_deliver(j));
  DM_TRY(judge_find_changes(j, &differs));
  if (!differs) return DM_OK;
  if (judge_may_reread(j)) return judge_reread(j, false, NULL, verdict);
  verdict->pass = false;
  return DM_OK;
}

/* The verdict of the sums, or of rank 0 on all runs of entries. */
static dm_status judge_seen(dm_job *j, dm_verdict *verdict, bool *sound) {
  const dm_plan *plan = &j->setup.plan;
  *sound = true;
  if (dm_plan_has_runs(plan)) {
    *verdict = j->runs.verdict;
    return dm_comm_broadcast(j->run->world, verdict, sizeof *verdict, 0);
  }
  if (dm_plan_streams(plan)) DM_TRY(dm_freivalds_settle(j->check, j->run->world, sound));
  return dm_freivalds_judge(j->check, j->run->world, verdict);
}

/* A copy of this rank's part of C, which C will replace; *kept: all ranks have one. */
static dm_status judge_copy_old(const dm_job *j, void **memory, dm_distributed *old, bool *kept) {
  *old = j->memory[DM_C];
  const dm_view c = old->local;
  dm_status status =
      c.space != DM_HOST
          ? dm_fail(DM_E_FIT, "the old C is in GPU memory")
          : dm_buffer_alloc(dm_max(1, c.rows * c.cols) * dm_dtype_size(c.dtype), memory);
  int64_t none = status != DM_OK;
  dm_status_free(status);
  DM_TRY(dm_comm_max_i64(j->run->world, &none, 1));
  *kept = none == 0;
  if (!*kept) return DM_OK;
  old->local = dm_view_row_major(*memory, c.dtype, c.rows, c.cols);
  dm_copy(old->local, c, false);
  return DM_OK;
}

dm_status dm_judge_range(const dm_job *j, const dm_verdict *verdict) {
  dm_verify verify;
  if (verdict && verdict->pass && verdict->rows_left_out + verdict->cols_left_out == 0)
    return DM_OK;
  DM_TRY(judge_sources(j, &verify));
  return dm_verify_range(j->run, &verify, &j->problem);
}

/* C in memory that its sums do not judge, and that was not delivered yet: *judged by its elements,
 * unless there is no room for the old C meanwhile. A wrong C gives way to that. */
static dm_status judge_elements(dm_job *j, bool scaled, dm_verdict *verdict, bool *judged) {
  DM_FREED void *memory = NULL;
  dm_distributed old;
  *judged = true;
  if (dm_job_replaces_old(j)) DM_TRY(judge_copy_old(j, &memory, &old, judged));
  if (!*judged) return DM_OK;
  DM_TRY(dm_judge_range(j, NULL)); /* refused, it leaves C as it is */
  DM_TRY(dm_job_deliver(j));
  DM_TRY(judge_reread(j, scaled, memory ? &old : NULL, verdict));
  if (verdict->pass || !memory) return DM_OK;
  dm_copy(j->memory[DM_C].local, old.local, false);
  j->held = true;
  return DM_OK;
}

/* C in memory that cannot be read again: the sums must do. */
static dm_status judge_sums(dm_job *j, dm_verdict *verdict) {
  const int64_t *changed = j->product.changed;
  bool sound, judged = false;
  DM_TRY(judge_seen(j, verdict, &sound));
  if (changed[DM_A] + changed[DM_B] > 0) verdict->pass = false;
  if (sound) DM_TRY(judge_arrived(j, verdict));
  if (sound && !(verdict->pass && verdict->strained)) return judge_nan(j, verdict);
  if (j->held || judge_may_reread(j)) DM_TRY(judge_elements(j, sound, verdict, &judged));
  if (judged || sound) return DM_OK;
  verdict->rows_left_out = j->problem.m; /* nothing is known of any row */
  verdict->rows_checked = 0;
  return DM_OK;
}

/* C, and all it was computed from, can be read again if what was seen of them gives no verdict. */
static dm_status judge_panels(dm_job *j, dm_verdict *verdict) {
  const int64_t *changed = j->product.changed; /* products and verification both saw them */
  bool differs, sound;
  if (changed[DM_A] + changed[DM_B] > 0) {
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "%lld pieces of A and %lld of B changed in memory since they were read: C is "
                "verified against the files",
                (long long)changed[DM_A], (long long)changed[DM_B]);
    return judge_reread(j, false, NULL, verdict);
  }
  DM_TRY(judge_find_changes(j, &differs));
  if (differs) return judge_reread(j, false, NULL, verdict);
  DM_TRY(judge_seen(j, verdict, &sound));
  if (!sound) {
    judge_tell(j, "B has NaN, Inf, extreme exponents or unlike rows");
    return judge_reread(j, false, NULL, verdict);
  }
  if (!verdict->strained) return judge_nan(j, verdict);
  judge_tell(j, "there are NaN, Inf or extreme exponents");
  return judge_reread(j, true, NULL, verdict);
}

static dm_status judge_find(dm_job *j, dm_verdict *verdict) {
  const bool rereads = j->basis == DM_BASIS_REREAD;
  dm_run_phase(j->run, "verifying", DM_SYNC_PATIENCE);
  if (rereads || j->multiply->scratch) DM_TRY(dm_job_deliver(j));
  if (rereads) return judge_reread(j, false, NULL, verdict);
  return judge_may_reread(j) ? judge_panels(j, verdict) : judge_sums(j, verdict);
}

/* A row that stands out is multiplied again. */
static dm_status judge_suspect(dm_job *j, dm_verdict *verdict) {
  const dm_problem *p = &j->setup.plan.problem;
  dm_verify verify;
  if (!verdict->pass || !verdict->suspect || !judge_may_reread(j) || dm_problem_entries(p) > 1)
    return DM_OK;
  DM_TRY(judge_sources(j, &verify));
  return dm_verify_suspect(j->run, &verify, p, verdict);
}

/* ---- what follows ---- */

/* Keeps the wrong result for inspection, under its .part name. */
static dm_status judge_stop(dm_job *j) {
  const char *out = j->multiply->out.file;
  j->keep_part = true;
  return dm_hint(dm_verdict_status(&j->verdict, out, false),
                 "the result is kept as %s; %s was not touched", j->file.part, out);
}

/* C in memory: a tile that was never delivered replaced nothing; of several, the wrong ones are
 * computed again if what they were computed from is still there. */
static dm_status judge_repair_memory(dm_job *j) {
  const bool repairs = j->multiply->on_corruption == DM_ON_CORRUPTION_REPAIR;
  const bool again = repairs && j->held && j->repair->round == 0;
  dm_verify verify;
  if (repairs && judge_may_reread(j)) {
    DM_TRY(judge_sources(j, &verify));
    return dm_repair_try(j, &verify, j->repair, &j->again);
  }
  if (again) j->repair->tiles = 1;
  j->again = again;
  dm_status status = dm_verdict_status(&j->verdict, "C", false);
  if (again) {
    dm_log_line(&j->run->log, DM_LOG_WARNING, "%s: it is computed again", status->message);
    dm_status_free(status);
    return DM_OK;
  }
  if (j->repair->round > 0) {
    status->code = DM_E_CORRUPT;
    dm_context(status, "computed a second time");
  }
  return dm_hint(status,
                 j->held ? "C is unchanged" : "C holds wrong elements and must not be used");
}

dm_status dm_judge(dm_job *j) {
  DM_TRY(judge_find(j, &j->verdict));
  DM_TRY(judge_suspect(j, &j->verdict));
  DM_TRY(dm_judge_range(j, &j->verdict));
  j->verdict.repaired = j->repair->tiles;
  if (j->verdict.pass) return DM_OK;
  if (dm_job_in_memory(j, DM_C)) return judge_repair_memory(j);
  if (j->multiply->on_corruption == DM_ON_CORRUPTION_WARN) return DM_OK;
  if (j->multiply->on_corruption == DM_ON_CORRUPTION_STOP) return judge_stop(j);
  dm_verify verify;
  DM_TRY(judge_sources(j, &verify));
  dm_status status = dm_repair_try(j, &verify, j->repair, &j->again);
  if (j->keep_part)
    dm_hint(status, "the result is kept as %s; %s was not touched", j->file.part,
            j->multiply->out.file);
  return status;
}
