/* Verifies the entries of a batch one by one, while they are in the processor's cache: each is a
 * product of its own, with weights of its own columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/whole_product.h"
#include "check/entry_sums.h"
#include "check/freivalds_impl.h"

/* With fewer columns, groups take more time than they are worth. */
enum { FREIVALDS_GROUPED = 512 };

/* What one thread has checked. */
typedef struct thread_checks {
  dm_entry_sums *sums; /* of entries whose verdict is plain; else NULL */
  bool plain;          /* so far, of the present one */
  dm_freivalds *check; /* of the present one, if it is not */
  dm_verdict verdict;  /* of those before that are not */
  int64_t entries;     /* number of these */
} thread_checks;

typedef struct checks {
  dm_problem one; /* the problem of each entry */
  const dm_whole_product *whole;
  const double *alpha, *beta;
  dm_row_factors factors;
  dm_check_seed seed;
  const dm_comm *comm;
  bool may_be_plain;
  uint8_t *strained;     /* entries that are not judged; NULL: all are */
  thread_checks *thread; /* DM_ENTRY_THREADS */
} checks;

static dm_status freivalds_add_operands(const checks *all, dm_freivalds **check,
                                        const dm_whole_product *one) {
  DM_TRY(dm_freivalds_reuse(&all->one, all->alpha, all->beta, false, check));
  if (all->one.n < FREIVALDS_GROUPED) dm_freivalds_join_groups(*check);
  dm_freivalds_conjugate(*check, one->conjugate_a, one->conjugate_b);
  dm_freivalds_repeat(*check, all->seed, 0);
  DM_TRY(dm_freivalds_scan_b(*check, NULL, one->b, 0, 0));
  DM_TRY(dm_freivalds_weigh(*check, all->comm));
  for (int64_t k = 0; dm_freivalds_turn_to_row(*check, k); k += dm_freivalds_room(*check)) {
    DM_TRY(dm_freivalds_add_b(*check, NULL, one->b, 0, 0));
    DM_TRY(dm_freivalds_project(*check, all->comm));
    DM_TRY(dm_freivalds_add_a(*check, NULL, one->a, 0, 0));
  }
  return all->one.reads_c ? dm_freivalds_add_c0(*check, NULL, one->c, 0, 0) : DM_OK;
}

static dm_status freivalds_before(void *context, int thread, int64_t entry,
                                  const dm_whole_product *one) {
  const checks *all = context;
  thread_checks *own = &all->thread[thread];
  const bool follows = entry + 1 < all->whole->entries;
  if (all->may_be_plain && !own->sums)
    DM_TRY(dm_entry_sums_new(&all->one, &all->factors, all->seed.value, &own->sums));
  if (own->sums) {
    const dm_whole_product next = dm_whole_entry(all->whole, follows ? entry + 1 : entry);
    dm_entry_sums_fetch(own->sums, follows ? &next : NULL);
  }
  own->plain = all->may_be_plain && dm_entry_sums_operands(own->sums, one->a, one->b);
  return own->plain ? DM_OK : freivalds_add_operands(all, &own->check, one);
}

void dm_verdict_join(dm_verdict *all, const dm_verdict *one, int64_t first_row) {
  const bool worse = one->worst_row >= 0 && (all->worst_row < 0 || one->residual > all->residual);
  if (worse) all->worst_row = first_row + one->worst_row;
  if (one->suspect && !all->suspect) all->suspect_row = first_row + one->suspect_row;
  all->suspect |= one->suspect;
  all->pass &= one->pass;
  all->strained |= one->strained;
  all->doubted |= one->doubted;
  all->residual = fmax(all->residual, one->residual);
  all->relative = fmax(all->relative, one->relative);
  all->rows_left_out += one->rows_left_out;
  all->cols_left_out += one->cols_left_out;
  all->rows_checked += one->rows_checked;
  all->cols_checked += one->cols_checked;
  all->rows_by_pattern += one->rows_by_pattern;
  all->cols_by_pattern += one->cols_by_pattern;
  all->norm = hypot(all->norm, one->norm);
  all->unbiased = fmax(all->unbiased, one->unbiased);
  dm_row_bias_join(&all->bias, &one->bias);
}

/* An entry that does not plainly pass gets the verdict of a full check; A and B are still there. */
static dm_status after(void *context, int thread, int64_t entry, const dm_whole_product *one) {
  const checks *all = context;
  thread_checks *own = &all->thread[thread];
  const int64_t row = entry * all->one.m;
  dm_verdict found;
  if (own->plain && dm_entry_sums_judge(own->sums, one->c, row)) return DM_OK;
  if (own->plain) DM_TRY(freivalds_add_operands(all, &own->check, one));
  DM_TRY(dm_freivalds_add_c(own->check, NULL, one->c, 0, 0));
  DM_TRY(dm_freivalds_judge(own->check, all->comm, &found));
  if (all->strained) all->strained[entry] = found.pass && found.strained;
  if (all->strained && all->strained[entry]) return DM_OK;
  if (own->entries++ > 0) {
    dm_verdict_join(&own->verdict, &found, row);
    return DM_OK;
  }
  own->verdict = found;
  own->verdict.suspect_row += row;
  if (found.worst_row >= 0) own->verdict.worst_row += row;
  return DM_OK;
}

static void freivalds_join(const checks *all, dm_verdict *verdict) {
  *verdict = (dm_verdict){.pass = true,
                          .exact = dm_dtype_is_integer(all->one.work),
                          .worst_row = -1,
                          .drawn = true,
                          .seed = all->seed.value};
  for (int t = 0; t < DM_ENTRY_THREADS; t++) {
    const thread_checks *one = &all->thread[t];
    if (one->entries > 0) dm_verdict_join(verdict, &one->verdict, 0);
    if (!one->sums) continue;
    const dm_rows_found rows = dm_entry_sums_found(one->sums);
    const dm_verdict plain = {.pass = true,
                              .residual = rows.residual,
                              .relative = rows.relative,
                              .worst_row = rows.worst,
                              .rows_checked = rows.checked,
                              .cols_checked = rows.checked / all->one.m * all->one.n,
                              .norm = sqrt(rows.squares)};
    dm_verdict_join(verdict, &plain, 0);
  }
}

static dm_status freivalds_multiply(checks *all, dm_backend *backend, const dm_whole_product *whole,
                                    dm_verdict *verdict) {
  const dm_entry_steps steps = {freivalds_before, after, all};
  all->thread = calloc(DM_ENTRY_THREADS, sizeof *all->thread);
  if (!all->thread) return dm_fail(DM_E_FIT, "no memory for the verification");
  dm_status status = dm_backend_multiply_entries(backend, whole, &steps);
  if (!status) freivalds_join(all, verdict);
  for (int t = 0; t < DM_ENTRY_THREADS; t++) {
    dm_freivalds_free(all->thread[t].check);
    dm_entry_sums_free(all->thread[t].sums);
  }
  free(all->thread);
  return status;
}

dm_status dm_freivalds_multiply_entries(const dm_problem *problem, dm_check_seed seed, int draw,
                                        const dm_comm *comm, dm_backend *backend,
                                        const dm_whole_product *whole, uint8_t *strained,
                                        dm_verdict *verdict) {
  dm_freivalds common = {.problem = *problem}; /* without vectors */
  checks all = {.one = *problem,
                .whole = whole,
                .alpha = whole->alpha,
                .beta = whole->beta,
                .comm = comm,
                .strained = strained};
  all.one.m = dm_problem_entry_rows(problem);
  all.one.batch = 0;
  memcpy(common.alpha, whole->alpha, sizeof common.alpha);
  memcpy(common.beta, whole->beta, sizeof common.beta);
  dm_freivalds_repeat(&common, seed, draw);
  DM_TRY(dm_freivalds_draw(&common, comm));
  all.seed = (dm_check_seed){.stated = true, .value = common.seed};
  all.factors = dm_freivalds_factors(&common);
  all.may_be_plain = problem->n < FREIVALDS_GROUPED && dm_entry_sums_suit(&all.one, whole);
  return freivalds_multiply(&all, backend, whole, verdict);
}
