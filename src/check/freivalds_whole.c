/* Verifies a product of one process where a GPU multiplies it. */
#include <math.h>
#include <string.h>

#include "backend/checked_product.h"
#include "check/freivalds_impl.h"

static dm_verdict verdict_of(const dm_problem *p, const dm_checked_found *found, uint64_t seed) {
  const dm_rows_found *rows = &found->rows;
  return (dm_verdict){.pass = rows->residual <= 1.0,
                      .exact = dm_dtype_is_integer(p->work),
                      .residual = rows->residual,
                      .relative = rows->relative,
                      .worst_row = rows->worst,
                      .rows_left_out = p->m - rows->checked,
                      .cols_left_out = found->columns.left_out,
                      .rows_checked = rows->checked,
                      .cols_checked = p->n - found->columns.left_out,
                      .strained = rows->strained || found->columns.strained,
                      .norm = sqrt(rows->squares),
                      .drawn = true,
                      .seed = seed};
}

dm_status dm_freivalds_multiply(const dm_problem *problem, dm_check_seed seed, int draw,
                                const dm_comm *comm, dm_backend *backend,
                                const dm_whole_product *whole, dm_verdict *verdict) {
  dm_freivalds check = {.problem = *problem, .tensor = true}; /* without vectors */
  dm_checked_product product = {.whole = *whole};
  dm_checked_found found;
  memcpy(check.alpha, whole->alpha, sizeof check.alpha);
  memcpy(check.beta, whole->beta, sizeof check.beta);
  dm_freivalds_repeat(&check, seed, draw);
  DM_TRY(dm_freivalds_draw(&check, comm));
  product.seed = check.seed;
  product.factors = dm_freivalds_factors(&check);
  DM_TRY(dm_backend_multiply_checked(backend, &product, &found));
  *verdict = verdict_of(problem, &found, check.seed);
  return DM_OK;
}
