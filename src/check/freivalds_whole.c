/* Verifies a product where GPUs multiply it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/verify_sums.h"
#include "check/freivalds_impl.h"
#include "core/buffer.h"

static dm_verdict verdict_of(const dm_problem *p, const dm_verified_found *found,
                             const dm_verified_product *product) {
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
                      .bias = rows->bias,
                      .unbiased = dm_freivalds_unbiased(&product->factors),
                      .drawn = true,
                      .seed = product->seed};
}

/* Whether the weights are useful: always if they follow from all of op(B), whose columns may be
 * zero or have NaN. */
static bool is_sound(const dm_verified_product *product, const dm_columns_found *columns) {
  const int parts = product->ranks ? product->ranks->parts_of_k : 0; /* each as large, at most */
  const double spread = columns->spread * (parts > 0 ? parts : 1);
  return product->step <= 1 || (!columns->strained && columns->left_out == 0 &&
                                dm_sample_is_sound(spread, product->whole.c.cols));
}

enum { NUMBERS = 12 }; /* of a rank's findings */

static void list_rows(const dm_rows_found *rows, bool sound, int64_t first, double *numbers) {
  const double all[NUMBERS] = {
      rows->residual,        rows->relative,
      rows->squares,         rows->worst < 0 ? -1.0 : (double)(first + rows->worst),
      (double)rows->checked, rows->strained,
      rows->bias.cross,      rows->bias.power,
      rows->bias.noise,      rows->bias.allowed,
      rows->bias.rows,       !sound};
  memcpy(numbers, all, sizeof all);
}

static dm_rows_found freivalds_rows_of(const double *numbers) {
  return (dm_rows_found){.residual = numbers[0],
                         .relative = numbers[1],
                         .squares = numbers[2],
                         .worst = (int64_t)numbers[3],
                         .checked = (int64_t)numbers[4],
                         .strained = numbers[5] != 0.0,
                         .bias = {numbers[6], numbers[7], numbers[8], numbers[9], numbers[10]}};
}

/* Joins the findings of all ranks, unless one comes with an error, MINE. */
static dm_status freivalds_join_rows(const dm_comm *comm, const dm_verified_ranks *with,
                                     dm_status mine, dm_rows_found *rows, bool *sound) {
  const int ranks = dm_comm_size(comm);
  const int64_t count = NUMBERS * (int64_t)ranks;
  double *all = NULL;
  dm_status status = dm_buffer_table(count + 1, &all);
  if (status) mine = dm_status_first(mine, status);
  if (!mine) list_rows(rows, *sound, with->first, all + NUMBERS * dm_comm_rank(comm));
  status = with->sum(with->context, mine, all, count, false);
  for (int r = 0; r < ranks && !status; r++) *sound &= all[NUMBERS * r + NUMBERS - 1] == 0.0;
  if (!status) *rows = freivalds_rows_of(all);
  for (int r = 1; r < ranks && !status; r++) {
    const dm_rows_found more = freivalds_rows_of(all + NUMBERS * r);
    dm_rows_join(rows, &more);
  }
  free(all);
  return status;
}

/* All ranks multiply, even if one has no sums. */
static dm_status freivalds_multiply_rows(const dm_comm *comm, dm_backend *backend,
                                         const dm_verified_product *product,
                                         dm_verified_found *found, bool *sound) {
  const dm_verified_ranks *ranks = product->ranks;
  dm_status status = dm_backend_multiply_verified(backend, product, found);
  *sound = status || is_sound(product, &found->columns);
  if (!ranks) return status;
  if (status && status->agreed) return status;
  if (!status)
    found->rows.strained |= found->columns.strained; /* where k is divided, on one rank */
  dm_status multiplied = ranks->multiply(ranks->context);
  if (!multiplied) return freivalds_join_rows(comm, ranks, status, &found->rows, sound);
  dm_status_free(status);
  return multiplied;
}

dm_status dm_freivalds_multiply_rows(const dm_problem *problem, dm_check_seed seed, int draw,
                                     const dm_comm *comm, dm_backend *backend,
                                     const dm_whole_product *whole, const dm_verified_ranks *ranks,
                                     dm_verdict *verdict) {
  dm_freivalds check = {.problem = *problem, .from_gpu = true}; /* without vectors */
  dm_verified_product product = {.whole = *whole, .ranks = ranks};
  dm_verified_found found;
  bool sound;
  memcpy(check.alpha, whole->alpha, sizeof check.alpha);
  memcpy(check.beta, whole->beta, sizeof check.beta);
  dm_freivalds_repeat(&check, seed, draw);
  DM_TRY(dm_freivalds_draw(&check, comm));
  product.seed = check.seed;
  product.factors = dm_freivalds_factors(&check);
  /* The old C, which the product replaces, is not there to be summed twice. */
  product.step =
      product.factors.reads_c || dm_dtype_is_integer(problem->work)
          ? 1
          : dm_sample_step((ranks ? ranks->depth : whole->a.cols) * dm_max(1, whole->entries));
  DM_TRY(freivalds_multiply_rows(comm, backend, &product, &found, &sound));
  if (!sound) {
    product.step = 1;
    product.multiplied = true;
    DM_TRY(freivalds_multiply_rows(comm, backend, &product, &found, &sound));
  }
  *verdict = verdict_of(problem, &found, &product);
  return DM_OK;
}

dm_status dm_freivalds_multiply(const dm_problem *problem, dm_check_seed seed, int draw,
                                const dm_comm *comm, dm_backend *backend,
                                const dm_whole_product *whole, dm_verdict *verdict) {
  return dm_freivalds_multiply_rows(problem, seed, draw, comm, backend, whole, NULL, verdict);
}
