/* Rows of C above the bound that are right all the same: where columns and terms are alike,
 * rounding errors are, too, and add up. And a row within its bound that may be wrong all the same:
 * its residual stands out. Some of the former, the worst one among them, or the latter are
 * multiplied again: exactly, and as BLAS libraries do, in one chain and in blocks of k, which shows
 * how large the rounding errors of these numbers are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/term_sums.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "product/verify.h"

enum {
  VERIFY_MOST_ROWS = 8,
  ELEMENTS = 1 << 20, /* of all rows that are multiplied again; at least one is */
  SOME_LINES = 16,    /* of C: with fewer they may */
  FEW_LINES = 4,      /* of C: kernels for vectors add lanes, whose sums may be larger than all of
                       * the partial ones here */
};

/* What rounding may do: times the errors of the products above; and times what random errors add up
 * to. Errors of terms of few values may be all alike, and then grow by the root of a block's length
 * more. */
static const double most_of_seen = 8.0, most_of_random = 3.0, most_of_alike = 24.0;
static const double most_of_chain = 16.0; /* of random ones, where all terms may be in one chain */

typedef struct doubts {
  dm_run *run;
  const dm_verify *v;
  const dm_problem *p;
  int parts;
  int64_t rows[VERIFY_MOST_ROWS], count;
  double *a, *c, *old, *b_squares;
  dm_term_sums sums; /* see sum_at */
  double *to;        /* of a pass: one row */
} doubts;

static dm_status take_row(void *context, dm_view part, int64_t row, int64_t col) {
  const doubts *d = context;
  (void)row;
  for (int64_t j = 0; j < part.cols; j++) {
    const double *x = dm_view_at(part, 0, j);
    for (int i = 0; i < d->parts; i++) d->to[(col + j) * d->parts + i] = x[i];
  }
  return DM_OK;
}

/* The doubtful rows of op(A), C or C0, of COLS elements, on every rank. */
static dm_status doubts_read_rows(doubts *d, int matrix, int64_t cols, double *rows) {
  dm_status status = DM_OK;
  for (int64_t r = 0; r < d->count && !status; r++) {
    const dm_extent part = {{d->rows[r], d->rows[r] + 1}, {0, cols}};
    d->to = rows + r * cols * d->parts;
    status = dm_verify_stream_part(d->run, d->v, matrix, &part, dm_dtype_widest(d->p->work),
                                   take_row, d);
  }
  DM_TRY(dm_comm_agree(d->run->world, status));
  return dm_comm_sum_f64(d->run->world, rows, d->count * cols * d->parts);
}

/* Of the real (X = 0) or imaginary part of element J of a row, the number of the sum that part Y of
 * A's elements adds to: of complex numbers two, since kernels sum these apart. */
static int64_t sum_at(const doubts *d, int64_t r, int x, int y, int64_t j) {
  return ((r * d->parts + x) * d->parts + y) * (d->p->n + DM_TERMS_PADDING) + j;
}

/* Parts come in the order of rows. */
static dm_status take_b(void *context, dm_view part, int64_t row, int64_t col) {
  doubts *d = context;
  const int parts = d->parts;
  for (int64_t l = 0; l < part.rows; l++) {
    const double *b = dm_view_at(part, l, 0);
    for (int64_t j = 0; j < part.cols * parts; j++) d->b_squares[col + j / parts] += b[j] * b[j];
  }
  for (int64_t r = 0; r < d->count; r++)
    for (int x = 0; x < parts; x++)
      for (int y = 0; y < parts; y++)
        dm_term_sums_add(&d->sums, &(dm_term_operands){.first = row,
                                                       .rows = part.rows,
                                                       .at = sum_at(d, r, x, y, col),
                                                       .count = part.cols,
                                                       .a = d->a + (r * d->p->k + row) * parts + y,
                                                       .b = (const double *)part.base + (x ^ y),
                                                       .a_step = parts,
                                                       .b_row = part.row_stride * parts,
                                                       .b_step = parts,
                                                       .negative = x == 0 && y == 1});
  return DM_OK;
}

/* Joins the sums of all ranks. */
static dm_status multiply_again(doubts *d) {
  DM_TRY(dm_comm_agree(
      d->run->world, dm_verify_stream(d->run, d->v, DM_B, dm_dtype_widest(d->p->work), take_b, d)));
  dm_term_sums_finish(&d->sums);
  DM_TRY(dm_comm_sum_f64(d->run->world, d->sums.vectors, DM_TERMS_JOINED * d->sums.room));
  return dm_comm_sum_f64(d->run->world, d->b_squares, d->p->n);
}

/* The square of what rounding may do to sum I: on GPUs more, as in check/freivalds_bound.c, there
 * in the longest piece of k. EXACT: no sum of its row was rounded. */
static double allowed(const doubts *d, int64_t i, bool exact) {
  const int64_t piece = d->p->compute.piece, depth = piece > 0 ? dm_min(piece, d->p->k) : d->p->k;
  const double more = d->v->from_gpu ? 1.0 + sqrt((double)depth) / 16.0 : 1.0;
  const double *const at = d->sums.vectors + i, u = more * d->p->compute.roundoff;
  const int64_t of = d->sums.room;
  if (dm_min(d->p->m, d->p->n) < FEW_LINES) {
    const double most = u * ((double)d->p->k + 4.0) * at[DM_TERMS_SIZES * of];
    return most * most;
  }
  if (exact) return 0.0;
  const double chain = (at[DM_TERMS_CHAIN * of] - at[DM_TERMS_HIGH * of]) - at[DM_TERMS_LOW * of];
  const double blocks = (at[DM_TERMS_BLOCKS * of] - at[DM_TERMS_HIGH * of]) - at[DM_TERMS_LOW * of];
  const double most = more * most_of_seen, seen = most * most * (chain * chain + blocks * blocks);
  const bool alike = 4.0 * at[DM_TERMS_FAMILIAR * of] > at[DM_TERMS_SAMPLED * of];
  const double random = d->sums.one_chain ? most_of_chain : most_of_random;
  const double times = u * (alike ? most_of_alike : random);
  return fmax(seen, times * times * at[DM_TERMS_SQUARES * of]);
}

/* Whether no sum of row R was rounded, of so many that this is no accident: of whole numbers, say.
 */
static bool is_exact(const doubts *d, int64_t r) {
  const int64_t of = d->sums.room;
  bool exact = !d->sums.one_chain && !d->v->from_gpu;
  for (int64_t i = sum_at(d, r, 0, 0, 0); i < sum_at(d, r + 1, 0, 0, 0) && exact; i++) {
    const double *const at = d->sums.vectors + i;
    exact = at[DM_TERMS_CHAIN * of] == at[0] && at[DM_TERMS_BLOCKS * of] == at[0] &&
            at[DM_TERMS_LOW * of] == 0.0 &&
            4.0 * at[DM_TERMS_FAMILIAR * of] <= at[DM_TERMS_SAMPLED * of];
  }
  return exact;
}

/* The error of row R in units of its columns of B, over what rounding may do. */
static double ratio_of_row(const doubts *d, int64_t r) {
  const dm_problem *p = d->p;
  const double *alpha = d->v->equation.alpha, *beta = d->v->equation.beta;
  const int parts = d->parts;
  const bool exact = is_exact(d, r);
  const double *const high = dm_term_sums_of(&d->sums, DM_TERMS_HIGH), *const low = dm_term_sums_of(
                                                                           &d->sums, DM_TERMS_LOW);
  double error = 0.0, most = 0.0;
  for (int64_t j = 0; j < p->n; j++) {
    const int64_t at = (r * p->n + j) * parts, last = at + parts - 1;
    long double z[2] = {0.0L, 0.0L};
    double old[2] = {0.0, 0.0}, may = 0.0, of_column = d->b_squares[j];
    if (!(of_column > 0.0)) of_column = 1.0;
    for (int x = 0; x < parts; x++) {
      if (d->old) old[x] = d->old[at + x];
      for (int y = 0; y < parts; y++) {
        const int64_t sum = sum_at(d, r, x, y, j);
        z[x] += (long double)high[sum] + low[sum];
        may += parts * allowed(d, sum, exact);
      }
    }
    const long double re = alpha[0] * z[0] - alpha[1] * z[1] + (long double)beta[0] * old[0] -
                           (long double)beta[1] * old[1];
    const long double im = alpha[0] * z[1] + alpha[1] * z[0] + (long double)beta[0] * old[1] +
                           (long double)beta[1] * old[0];
    const double off = (double)hypotl(d->c[at] - re, parts == 2 ? d->c[last] - im : 0.0L);
    const double rounded =
        (dm_dtype_roundoff(p->c) + 4.0 * p->compute.roundoff) *
            ((double)hypotl(re, im) + hypot(beta[0], beta[1]) * hypot(old[0], old[1])) +
        dm_dtype_smallest(p->c) + ((double)p->k + 2.0) * dm_dtype_smallest(p->accumulator);
    error += off * off / of_column;
    most += (may * (alpha[0] * alpha[0] + alpha[1] * alpha[1]) + rounded * rounded) / of_column;
  }
  return error == 0.0 ? 0.0 : sqrt(error / most);
}

/* The suspect row; or the worst row and, evenly spread, others of those that are marked. */
static void choose_rows(doubts *d, const uint8_t *wrong, const dm_verdict *verdict) {
  const int64_t most = dm_max(1, dm_min(VERIFY_MOST_ROWS, ELEMENTS / dm_max(1, d->p->n)));
  int64_t marked = 0, seen = 0;
  d->rows[d->count++] = verdict->pass ? verdict->suspect_row : verdict->worst_row;
  for (int64_t i = 0; i < d->p->m; i++) marked += wrong[i];
  const int64_t step = dm_max(1, dm_ceil_div(marked, most));
  for (int64_t i = 0; i < d->p->m && !verdict->pass; i++)
    if (wrong[i] && seen++ % step == 0 && i != d->rows[0] && d->count < most)
      d->rows[d->count++] = i;
}

static dm_status open_doubts(doubts *d) {
  const int64_t n = d->p->n, of_c = d->count * n * d->parts;
  DM_TRY(dm_buffer_table(d->count * d->p->k * d->parts, &d->a));
  DM_TRY(dm_buffer_table(of_c, &d->c));
  if (d->p->reads_c) DM_TRY(dm_buffer_table(of_c, &d->old));
  DM_TRY(dm_buffer_table(n, &d->b_squares));
  return dm_term_sums_open(&d->sums, sum_at(d, d->count, 0, 0, 0));
}

static dm_status doubts_read_all(doubts *d) {
  DM_TRY(doubts_read_rows(d, DM_A, d->p->k, d->a));
  DM_TRY(doubts_read_rows(d, DM_C, d->p->n, d->c));
  if (d->old) DM_TRY(doubts_read_rows(d, DM_OLD, d->p->n, d->old));
  return multiply_again(d);
}

/* Whether rows that are multiplied again tell more than the bound did. */
static bool may_differ(const dm_problem *p, const dm_verdict *verdict) {
  const bool some = verdict->pass ? verdict->suspect
                                  : verdict->worst_row >= 0 && verdict->residual <= (double)p->k;
  return some && !verdict->exact && !verdict->strained && dm_compute_is_plain(&p->compute) &&
         p->half == DM_BOTH_HALVES;
}

/* Whether no square of the sums above overflows or vanishes. */
static bool is_moderate(const doubts *d) {
  bool is = true;
  for (int64_t j = 0; j < d->p->n; j++)
    is &= d->b_squares[j] == 0.0 || (d->b_squares[j] > 1e-150 && d->b_squares[j] < 1e150);
  for (int64_t i = 0; i < d->sums.count; i++) {
    const double squares = dm_term_sums_of(&d->sums, DM_TERMS_SQUARES)[i];
    is &= squares == 0.0 || (squares > 1e-250 && squares < 1e250);
  }
  return is;
}

/* RATIO: the largest of the rows that were multiplied again; NaN: nothing is known. */
static void settle_doubts(const dm_problem *p, double ratio, uint8_t *wrong, dm_verdict *verdict) {
  const bool right = ratio <= 1.0 || (verdict->pass && isnan(ratio));
  if (verdict->pass && !right) { /* of a suspect row */
    verdict->worst_row = verdict->suspect_row;
    verdict->residual = ratio;
    wrong[verdict->worst_row] = 1;
  }
  if (!verdict->pass && right) {
    verdict->doubted = true;
    verdict->residual = ratio;
  }
  verdict->pass = right;
  if (right) memset(wrong, 0, (size_t)p->m);
}

dm_status dm_verify_doubts(dm_run *run, const dm_verify *v, const dm_problem *p, uint8_t *wrong,
                           dm_verdict *verdict) {
  doubts d = {
      .run = run,
      .v = v,
      .p = p,
      .parts = dm_dtype_is_complex(p->work) ? 2 : 1,
      .sums = {.narrow = dm_dtype_real(p->accumulator) == DM_F32,
               .one_chain = v->from_gpu || dm_min(dm_problem_entry_rows(p), p->n) < SOME_LINES}};
  double worst = 0.0;
  DM_TRY(dm_comm_broadcast(run->world, verdict, sizeof *verdict, 0));
  DM_TRY(dm_comm_broadcast(run->world, wrong, p->m, 0));
  if (!may_differ(p, verdict)) return DM_OK;
  if (verdict->pass && run->rank == 0)
    dm_log_line(&run->log, DM_LOG_DETAIL, "row %lld of C stands out: it is multiplied again",
                (long long)verdict->suspect_row);
  choose_rows(&d, wrong, verdict);
  dm_status status = dm_comm_agree(run->world, open_doubts(&d));
  if (!status) status = doubts_read_all(&d);
  for (int64_t r = 0; r < d.count && !status; r++) {
    const double ratio = ratio_of_row(&d, r);
    worst = ratio <= worst ? worst : ratio; /* NaN, too */
  }
  if (!status && verdict->pass && !is_moderate(&d)) worst = NAN;
  void *const all[] = {d.a, d.c, d.old, d.b_squares};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  dm_term_sums_close(&d.sums);
  if (!status) settle_doubts(p, worst, wrong, verdict);
  verdict->suspect = false;
  return status;
}

dm_status dm_verify_suspect(dm_run *run, const dm_verify *v, const dm_problem *p,
                            dm_verdict *verdict) {
  DM_FREED uint8_t *wrong = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(dm_max(1, p->m), &wrong)));
  return dm_verify_doubts(run, v, p, wrong, verdict);
}
