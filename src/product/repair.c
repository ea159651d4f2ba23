#include "product/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "product/verify.h"

enum { MOST_ROUNDS = 5 }; /* damage at new places each time: the machine cannot be trusted */
enum { MOST_TOLD = 4 };   /* blocks reported in a line of their own */
enum { REPAIR_WORDS = 400 };

/* ---- wrong blocks ---- */

static void free_damage(dm_damage *damage) {
  free(damage->list);
  *damage = (dm_damage){0};
}

static dm_status add_damage(dm_damage *damage, const dm_damaged *one) {
  dm_damaged *list = realloc(damage->list, (size_t)(damage->count + 1) * sizeof *list);
  if (!list) return dm_fail(DM_E_FIT, "no memory for the list of wrong blocks");
  damage->list = list;
  list[damage->count++] = *one;
  return DM_OK;
}

/* From the first wrong row to the last. Other rows of the block may be good, and stay as they are.
 */
static dm_range wrong_rows(const dm_damaged *one) {
  return (dm_range){one->first, one->last + 1};
}

/* The first of DAMAGE's blocks whose wrong rows have an element in common with ONE's, or NULL. */
static const dm_damaged *damage_at(const dm_damage *damage, const dm_damaged *one) {
  for (int64_t i = 0; i < damage->count; i++) {
    const dm_damaged *other = &damage->list[i];
    if (dm_range_meets(wrong_rows(one), wrong_rows(other)) &&
        dm_range_meets(one->cols, other->cols))
      return other;
  }
  return NULL;
}

/* Fraction of the free memory for the checks of all groups; if they need more, columns are not told
 * apart. */
static const double most_memory = 0.25;

/* Groups of block columns, each with its own check. */
typedef struct repair_groups {
  int64_t count;
  dm_range *cols;
  dm_freivalds **checks;
  uint8_t *wrong; /* m rows for each group */
} repair_groups;

static int64_t repair_group_of(const repair_groups *g, dm_range cols) {
  int64_t at = 0;
  while (at < g->count && g->cols[at].begin != cols.begin) at++;
  return at;
}

static dm_status list_groups(const dm_plan *plan, repair_groups *g) {
  const int64_t most = plan->tiles_n * plan->pn;
  DM_TRY(dm_buffer_table(most, &g->cols));
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++)
    for (int j = 0; j < plan->pn; j++) {
      const dm_range cols = dm_plan_cols(plan, t, j);
      if (dm_range_size(cols) == 0 || repair_group_of(g, cols) < g->count) continue;
      g->cols[g->count++] = cols;
    }
  return DM_OK;
}

static bool repair_fits(const dm_run *run, const dm_verify *v, const dm_problem *p, int64_t count) {
  const double wide = dm_dtype_is_complex(p->work) ? 2.0 : 1.0;
  const double each =
      (wide + 1.0) * ((double)p->n + DM_CHECK_GROUPS * (double)dm_verify_room(v, p)) +
      (DM_CHECK_GROUPS * (6.0 * wide + 6.0) + wide + 2.0) * (double)p->m;
  return (double)count * each * sizeof(double) * run->local_ranks <=
         most_memory * (double)dm_memory_available();
}

/* Collective: uses a single group if a rank lacks memory, or if one group is enough. */
static dm_status choose_groups(const dm_run *run, const dm_verify *v, const dm_problem *p,
                               repair_groups *g) {
  int64_t one = g->count < 2 || !repair_fits(run, v, p, g->count);
  DM_TRY(dm_comm_max_i64(run->world, &one, 1));
  if (one) g->count = 1;
  return DM_OK;
}

static dm_status open_groups(const dm_verify *v, const dm_problem *p, repair_groups *g) {
  const dm_equation *e = &v->equation;
  DM_TRY(dm_buffer_zeroed(g->count, p->m, (void **)&g->wrong));
  if (g->count < 2) return DM_OK;
  DM_TRY(dm_buffer_table(g->count, &g->checks));
  for (int64_t i = 0; i < g->count; i++) {
    DM_TRY(dm_freivalds_new_part(p, e->alpha, e->beta, v->from_gpu,
                                 (dm_extent){{0, p->m}, g->cols[i]}, dm_verify_room(v, p),
                                 &g->checks[i]));
    dm_freivalds_repeat(g->checks[i], v->seed, v->draw);
    dm_freivalds_mark(g->checks[i], g->wrong + i * p->m);
  }
  return DM_OK;
}

static void close_groups(repair_groups *g) {
  for (int64_t i = 0; g->checks && i < g->count; i++) dm_freivalds_free(g->checks[i]);
  free(g->checks);
  free(g->wrong);
  free(g->cols);
}

/* A group whose exponents allow no verdict may be wrong in any row. */
static dm_status judge_groups(dm_run *run, const dm_problem *p, repair_groups *g) {
  for (int64_t i = 0; i < g->count; i++) {
    dm_verdict verdict;
    DM_TRY(dm_freivalds_judge(g->checks[i], run->world, &verdict));
    if (verdict.strained) memset(g->wrong + i * p->m, 1, (size_t)p->m);
  }
  return dm_comm_broadcast(run->world, g->wrong, g->count * p->m, 0);
}

/* Marks wrong rows by group; if no group explains a wrong row, all groups are suspected. */
static dm_status separate_columns(dm_run *run, const dm_verify *v, const dm_problem *p,
                                  const uint8_t *wrong, repair_groups *g) {
  DM_TRY(choose_groups(run, v, p, g));
  DM_TRY(dm_comm_agree(run->world, open_groups(v, p, g)));
  if (g->checks) {
    DM_TRY(dm_verify_gather(run, v, p, (dm_range){0, p->m}, g->checks, g->count));
    DM_TRY(judge_groups(run, p, g));
  }
  for (int64_t row = 0; row < p->m; row++) {
    bool admitted = false;
    for (int64_t i = 0; i < g->count; i++) admitted |= g->wrong[i * p->m + row] && wrong[row];
    for (int64_t i = 0; i < g->count; i++)
      if (!wrong[row] || !admitted) g->wrong[i * p->m + row] = wrong[row];
  }
  return DM_OK;
}

static int storing_rank(const dm_plan *plan, int64_t t, int i, int j, int64_t row) {
  for (int l = 0; l < plan->pk; l++) {
    const dm_range share = dm_plan_c_share(plan, t, i, l);
    if (row >= share.begin && row < share.end) return dm_plan_rank(plan, i, j, l);
  }
  return dm_plan_rank(plan, i, j, 0);
}

static dm_status list_block(const dm_plan *plan, const repair_groups *g, int64_t t, int i, int j,
                            dm_damage *damage) {
  dm_damaged one = {.tile = t, .rows = dm_plan_rows(plan, t, i), .cols = dm_plan_cols(plan, t, j)};
  if (dm_range_size(one.cols) == 0) return DM_OK;
  const int64_t group = g->count > 1 ? repair_group_of(g, one.cols) : 0;
  const uint8_t *wrong = g->wrong + group * plan->problem.m;
  for (int64_t row = one.rows.begin; row < one.rows.end; row++) {
    if (!wrong[row]) continue;
    if (one.count++ == 0) one.first = row;
    one.last = row;
  }
  if (one.count == 0) return DM_OK;
  one.rank = storing_rank(plan, t, i, j, one.first);
  return add_damage(damage, &one);
}

static dm_status list_blocks(const dm_plan *plan, const repair_groups *g, dm_damage *damage) {
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++)
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++) DM_TRY(list_block(plan, g, t, i, j, damage));
  return DM_OK;
}

/* One random vector may detect an error that another narrowly misses: C is right if neither finds
 * one. */
static dm_status judge_twice(dm_run *run, dm_verify *v, const dm_problem *p, dm_verdict *verdict) {
  for (int turn = 0; turn < 2; turn++, v->draw++) {
    DM_TRY(dm_verify_residual(run, v, p, verdict));
    DM_TRY(dm_comm_broadcast(run->world, verdict, sizeof *verdict, 0));
    if (!verdict->pass) return DM_OK;
  }
  return DM_OK;
}

static dm_status repair_find(dm_run *run, dm_verify *v, const dm_plan *plan, repair_groups *g,
                             dm_damage *damage, dm_verdict *verdict) {
  const dm_problem *p = &plan->problem;
  dm_status status = dm_buffer_zeroed(p->m, 1, (void **)&v->wrong);
  if (!status) status = list_groups(plan, g);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(judge_twice(run, v, p, verdict));
  if (verdict->pass) return DM_OK;
  DM_TRY(dm_comm_broadcast(run->world, v->wrong, p->m, 0));
  DM_TRY(separate_columns(run, v, p, v->wrong, g));
  return dm_comm_agree(run->world, list_blocks(plan, g, damage));
}

/* Finds the wrong blocks of a finished C by reading A, B and C. Collective: VERDICT is that of the
 * files, with VERIFY's random vector and, if that finds nothing, with the next one; if it fails,
 * DAMAGE lists the wrong blocks of PLAN, the same on all ranks; free_damage frees it. */
static dm_status find_damage(dm_run *run, const dm_verify *verify, const dm_plan *plan,
                             dm_damage *damage, dm_verdict *verdict) {
  dm_verify v = *verify;
  repair_groups g = {0};
  *damage = (dm_damage){0};
  dm_status status = repair_find(run, &v, plan, &g, damage, verdict);
  close_groups(&g);
  free(v.wrong);
  if (status) free_damage(damage);
  return status;
}

/* ---- what becomes of them ---- */

/* Describes ONE, with details from its rank; the same on all ranks. */
static dm_status repair_describe(const dm_job *j, const dm_damaged *one, char words[REPAIR_WORDS]) {
  const int64_t rows = one->last - one->first + 1;
  int length =
      snprintf(words, REPAIR_WORDS, "row%s %lld", rows > 1 ? "s" : "", (long long)one->first);
  if (rows > 1)
    length +=
        snprintf(words + length, (size_t)(REPAIR_WORDS - length), " to %lld", (long long)one->last);
  snprintf(words + length, (size_t)(REPAIR_WORDS - length),
           " of C, columns %lld to %lld, tile %lld of %lld, rank %d (%.100s on %.60s)",
           (long long)one->cols.begin, (long long)one->cols.end - 1, (long long)one->tile + 1,
           (long long)dm_plan_tiles(&j->setup.plan), one->rank, j->setup.device.name,
           dm_comm_host(j->run->world));
  return dm_comm_broadcast(j->run->world, words, REPAIR_WORDS, one->rank);
}

static void describe_size(const dm_verdict *verdict, char words[64]) {
  if (verdict->exact)
    snprintf(words, 64, "whole numbers differ");
  else
    snprintf(words, 64, "off by %.3g times the bound", verdict->residual);
}

/* The first block that was computed again before, or NULL. */
static const dm_damaged *repeated(const dm_repair *repair, const dm_damage *damage) {
  for (int64_t i = 0; i < damage->count; i++)
    if (damage_at(&repair->seen, &damage->list[i])) return &damage->list[i];
  return repair->round >= MOST_ROUNDS ? &damage->list[0] : NULL;
}

static dm_status repair_say(const dm_job *j, const dm_damage *damage) {
  char words[REPAIR_WORDS], size[64];
  describe_size(&j->verdict, size);
  for (int64_t i = 0; i < dm_min(damage->count, MOST_TOLD); i++) {
    DM_TRY(repair_describe(j, &damage->list[i], words));
    dm_log_line(&j->run->log, DM_LOG_WARNING, "wrong and computed again: %s; %s", words, size);
  }
  if (damage->count > MOST_TOLD)
    dm_log_line(&j->run->log, DM_LOG_WARNING, "and %lld more blocks",
                (long long)(damage->count - MOST_TOLD));
  return DM_OK;
}

static dm_status wrong_again(const dm_job *j, const dm_damaged *one) {
  char words[REPAIR_WORDS], size[64];
  describe_size(&j->verdict, size);
  DM_TRY(repair_describe(j, one, words));
  dm_status status = dm_fail(DM_E_CORRUPT, "%s is wrong again after it was computed again: %s; %s",
                             j->sink.checkpoint ? j->multiply->out.file : "C", words, size);
  status->agreed = true;
  return status;
}

/* C in memory: the next round computes the wrong tiles of the same plan; *good tiles remain. */
static dm_status mark_wrong(dm_job *j, const dm_damage *damage, dm_repair *repair, int64_t *good) {
  repair->plan = j->setup.plan;
  repair->plan.todo = NULL;
  free(repair->wrong);
  repair->wrong = NULL;
  *good = repair->wrong_tiles = dm_plan_tiles(&repair->plan);
  DM_TRY(dm_comm_agree(j->run->world, dm_buffer_table(repair->wrong_tiles, &repair->wrong)));
  for (int64_t i = 0; i < damage->count; i++) {
    *good -= !repair->wrong[damage->list[i].tile];
    repair->wrong[damage->list[i].tile] = true;
  }
  repair->tiles += repair->wrong_tiles - *good;
  return DM_OK;
}

/* Removes what is wrong from the journal; *good tiles remain. */
static dm_status repair_give_back(dm_job *j, const dm_damage *damage, dm_repair *repair,
                                  int64_t *good) {
  if (!j->sink.checkpoint) return mark_wrong(j, damage, repair, good);
  DM_FREED dm_extent *wrong = NULL;
  int64_t tiles = 0;
  DM_TRY(dm_comm_agree(j->run->world, dm_buffer_table(damage->count, &wrong)));
  for (int64_t i = 0; i < damage->count; i++)
    wrong[i] = (dm_extent){.rows = wrong_rows(&damage->list[i]), .cols = damage->list[i].cols};
  dm_status status =
      dm_checkpoint_give_back(j->sink.checkpoint, wrong, damage->count, good, &tiles);
  repair->tiles += tiles - *good;
  return status;
}

static dm_status act_on(dm_job *j, const dm_damage *damage, dm_repair *repair, bool *again) {
  const dm_damaged *twice = repeated(repair, damage);
  int64_t good = 0;
  const int64_t before = repair->tiles;
  DM_TRY(repair_give_back(j, damage, repair, &good));
  if (twice) {
    repair->tiles = before;
    j->keep_part = good == 0; /* else the journal refers to it */
    return wrong_again(j, twice);
  }
  DM_TRY(repair_say(j, damage));
  *again = true;
  dm_status kept = DM_OK;
  for (int64_t i = 0; i < damage->count && !kept; i++)
    kept = add_damage(&repair->seen, &damage->list[i]);
  return dm_comm_agree(j->run->world, kept);
}

/* Times the bound: what rounding may reach where errors are alike. Few wrong sums are below it. */
static const double borderline = 4.0;

dm_status dm_repair_try(dm_job *j, const dm_verify *verify, dm_repair *repair, bool *again) {
  dm_damage damage;
  dm_verify same = *verify;
  const double residual = j->verdict.residual;
  *again = false;
  if (j->verdict.drawn) { /* rows that rounding alone put above the bound are there again */
    same.seed = (dm_check_seed){.stated = true, .value = j->verdict.seed};
    same.draw = 0;
  }
  dm_log_line(&j->run->log, DM_LOG_NOTE,
              "rows of C differ from their sums by more than the bound: A, B and C are read again");
  DM_TRY(find_damage(j->run, &same, &j->setup.plan, &damage, &j->verdict));
  j->verdict.repaired = repair->tiles;
  if (j->verdict.pass && (j->verdict.doubted || residual <= borderline))
    dm_log_line(&j->run->log, DM_LOG_NOTE, "C is right: %s",
                j->verdict.doubted
                    ? "the rows above the bound were multiplied again, and differ by rounding"
                    : "no row is above the bound any more, which rounding alone had put there");
  else if (j->verdict.pass)
    dm_log_line(&j->run->log, DM_LOG_WARNING,
                "C agrees with A and B in their files: the verification itself was wrong");
  dm_status status = j->verdict.pass ? DM_OK : act_on(j, &damage, repair, again);
  free_damage(&damage);
  return status;
}
