/* Verifies a product where GPUs multiply it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/checked_product.h"
#include "check/freivalds_impl.h"
#include "core/buffer.h"

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

/* Of the rows of all ranks; this one's begin with FIRST. */
static dm_status join_rows(const dm_comm *comm, int64_t first, dm_rows_found *rows) {
  const int ranks = dm_comm_size(comm);
  dm_rows_found *all;
  if (rows->worst >= 0) rows->worst += first;
  DM_TRY(dm_comm_agree(comm, dm_buffer_table(ranks, &all)));
  dm_status status = dm_comm_gather(comm, rows, sizeof *rows, all, 0);
  if (!status) status = dm_comm_broadcast(comm, all, ranks * (int64_t)sizeof *all, 0);
  *rows = all[0];
  for (int r = 1; r < ranks; r++) dm_rows_join(rows, &all[r]);
  free(all);
  return status;
}

/* All ranks multiply, even if one has no sums. */
static dm_status multiply(const dm_comm *comm, dm_backend *backend,
                          const dm_checked_product *product, dm_checked_found *found) {
  dm_status status = dm_backend_multiply_checked(backend, product, found);
  if (!product->ranks) return status;
  status = dm_status_first(status, product->ranks->multiply(product->ranks->context));
  return dm_comm_agree(comm, status);
}

dm_status dm_freivalds_multiply_rows(const dm_problem *problem, dm_check_seed seed, int draw,
                                     const dm_comm *comm, dm_backend *backend,
                                     const dm_whole_product *whole, const dm_checked_ranks *ranks,
                                     int64_t first, dm_verdict *verdict) {
  dm_freivalds check = {.problem = *problem, .tensor = true}; /* without vectors */
  dm_checked_product product = {.whole = *whole, .ranks = ranks};
  dm_checked_found found;
  memcpy(check.alpha, whole->alpha, sizeof check.alpha);
  memcpy(check.beta, whole->beta, sizeof check.beta);
  dm_freivalds_repeat(&check, seed, draw);
  DM_TRY(dm_freivalds_draw(&check, comm));
  product.seed = check.seed;
  product.factors = dm_freivalds_factors(&check);
  DM_TRY(multiply(comm, backend, &product, &found));
  if (ranks) DM_TRY(join_rows(comm, first, &found.rows));
  *verdict = verdict_of(problem, &found, check.seed);
  return DM_OK;
}

dm_status dm_freivalds_multiply(const dm_problem *problem, dm_check_seed seed, int draw,
                                const dm_comm *comm, dm_backend *backend,
                                const dm_whole_product *whole, dm_verdict *verdict) {
  return dm_freivalds_multiply_rows(problem, seed, draw, comm, backend, whole, NULL, 0, verdict);
}
