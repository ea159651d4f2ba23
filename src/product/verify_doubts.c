/* Rows of C above the bound that are right all the same: where columns and terms are alike,
 * rounding errors are, too, and add up. Some of these rows, the worst one among them, are
 * multiplied again: exactly, and as BLAS libraries do, in one chain and in blocks of k, which shows
 * how large the rounding errors of these numbers are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "product/verify.h"

enum {
  VERIFY_MOST_ROWS = 8,
  ELEMENTS = 1 << 20, /* of all rows that are multiplied again; at least one is */
  VERIFY_BLOCK = 256, /* of k */
  FEW_LINES = 4,      /* of C: kernels for vectors add lanes, whose sums may be larger than all of
                       * the partial ones here */
};

/* What rounding may do: times the errors of the products above; and, if those of a block are all
 * alike, the root of its length times what they are if they are random. */
static const double most_of_seen = 8.0, most_of_random = 16.0;

/* The real or imaginary part of an element of A B; of complex numbers one for each part of A, since
 * kernels sum these apart. */
typedef struct part_sum {
  long double exact;
  double chain, block, blocks; /* as rounded: all; those of the present block, and of the others */
  double most, squares, size;  /* largest partial sum; sum of its squares; |A||B| */
} part_sum;

/* The same of all ranks together, one vector each. */
enum { HIGH, LOW, VERIFY_CHAIN, VERIFY_BLOCKS, VERIFY_SQUARES, VERIFY_SIZE, VERIFY_VECTORS };

typedef struct doubts {
  dm_run *run;
  const dm_verify *v;
  const dm_problem *p;
  int parts;
  bool narrow;                                   /* sums are f32 */
  int64_t rows[VERIFY_MOST_ROWS], count, length; /* LENGTH: of SUMS */
  double *a, *c, *old, *b_squares;
  part_sum *sums;
  double *all; /* VERIFY_VECTORS of LENGTH */
  double *to;  /* of a pass: one row */
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

static void add_term(part_sum *s, long double a, long double b, bool narrow) {
  const long double term = a * b;
  const double of_chain = (double)(s->chain + term), of_block = (double)(s->block + term);
  s->exact += term;
  s->chain = narrow ? (double)(float)of_chain : of_chain;
  s->block = narrow ? (double)(float)of_block : of_block;
  s->most = fmax(s->most, fabs(s->chain));
  s->squares += s->most * s->most;
  s->size += fabs((double)term);
}

/* A(r,l) B(l,:), of which B has COLS. */
static void add_terms(const doubts *d, const double *a, const double *b, int64_t cols,
                      part_sum *sums) {
  if (d->parts == 1) {
    for (int64_t j = 0; j < cols; j++) add_term(&sums[j], a[0], b[j], d->narrow);
    return;
  }
  for (int64_t j = 0; j < cols; j++) {
    add_term(&sums[4 * j], a[0], b[2 * j], d->narrow);
    add_term(&sums[4 * j + 1], -a[1], b[2 * j + 1], d->narrow);
    add_term(&sums[4 * j + 2], a[0], b[2 * j + 1], d->narrow);
    add_term(&sums[4 * j + 3], a[1], b[2 * j], d->narrow);
  }
}

static void end_block(const doubts *d, part_sum *s) {
  s->blocks += s->block;
  if (d->narrow) s->blocks = (float)s->blocks;
  s->block = 0.0;
}

/* Parts come in the order of rows. */
static dm_status take_b(void *context, dm_view part, int64_t row, int64_t col) {
  const doubts *d = context;
  const int64_t k = d->p->k, n = d->p->n, parts = d->parts, each = parts * parts;
  for (int64_t l = 0; l < part.rows; l++) {
    const double *b = dm_view_at(part, l, 0);
    for (int64_t j = 0; j < part.cols * parts; j++) d->b_squares[col + j / parts] += b[j] * b[j];
    for (int64_t r = 0; r < d->count; r++) {
      part_sum *sums = d->sums + (r * n + col) * each;
      for (int64_t j = 0; (row + l) % VERIFY_BLOCK == 0 && j < part.cols * each; j++)
        end_block(d, &sums[j]);
      add_terms(d, d->a + (r * k + row + l) * parts, b, part.cols, sums);
    }
  }
  return DM_OK;
}

/* Joins the sums of all ranks. */
static dm_status multiply_again(doubts *d) {
  const int64_t length = d->length;
  DM_TRY(dm_comm_agree(
      d->run->world, dm_verify_stream(d->run, d->v, DM_B, dm_dtype_widest(d->p->work), take_b, d)));
  for (int64_t i = 0; i < length; i++) {
    const part_sum *s = &d->sums[i];
    const double values[VERIFY_VECTORS] = {(double)s->exact, (double)(s->exact - (double)s->exact),
                                           s->chain,         s->blocks + s->block,
                                           s->squares,       s->size};
    for (int x = 0; x < VERIFY_VECTORS; x++) d->all[x * length + i] = values[x];
  }
  DM_TRY(dm_comm_sum_f64(d->run->world, d->all, VERIFY_VECTORS * length));
  return dm_comm_sum_f64(d->run->world, d->b_squares, d->p->n);
}

/* The square of what rounding may do to sum I: on GPUs more, as in check/freivalds_bound.c. */
static double allowed(const doubts *d, int64_t i) {
  const double more = d->v->from_gpu ? 1.0 + sqrt((double)d->p->k) / 16.0 : 1.0;
  const double *const at = d->all + i, u = more * d->p->compute.roundoff;
  const int64_t of = d->length;
  if (dm_min(d->p->m, d->p->n) < FEW_LINES) {
    const double most = u * ((double)d->p->k + 4.0) * at[VERIFY_SIZE * of];
    return most * most;
  }
  const double chain = (at[VERIFY_CHAIN * of] - at[HIGH * of]) - at[LOW * of];
  const double blocks = (at[VERIFY_BLOCKS * of] - at[HIGH * of]) - at[LOW * of];
  const double most = more * most_of_seen, seen = most * most * (chain * chain + blocks * blocks);
  return fmax(seen, most_of_random * most_of_random * u * u * at[VERIFY_SQUARES * of]);
}

/* The error of row R in units of its columns of B, over what rounding may do. */
static double ratio_of_row(const doubts *d, int64_t r) {
  const dm_problem *p = d->p;
  const double *alpha = d->v->equation.alpha, *beta = d->v->equation.beta;
  const int parts = d->parts;
  double error = 0.0, most = 0.0;
  for (int64_t j = 0; j < p->n; j++) {
    const int64_t at = (r * p->n + j) * parts, last = at + parts - 1;
    long double z[2] = {0.0L, 0.0L};
    double old[2] = {0.0, 0.0}, may = 0.0, of_column = d->b_squares[j];
    if (!(of_column > 0.0)) of_column = 1.0;
    for (int x = 0; x < parts; x++) {
      if (d->old) old[x] = d->old[at + x];
      for (int64_t y = (at + x) * parts; y < (at + x + 1) * parts; y++) {
        z[x] += (long double)d->all[y] + d->all[LOW * d->length + y];
        may += parts * allowed(d, y);
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

/* The worst row and, evenly spread, others of those that are marked. */
static void choose_rows(doubts *d, const uint8_t *wrong, int64_t worst) {
  const int64_t most = dm_max(1, dm_min(VERIFY_MOST_ROWS, ELEMENTS / dm_max(1, d->p->n)));
  int64_t marked = 0, seen = 0;
  for (int64_t i = 0; i < d->p->m; i++) marked += wrong[i];
  const int64_t step = dm_max(1, dm_ceil_div(marked, most));
  d->rows[d->count++] = worst;
  for (int64_t i = 0; i < d->p->m; i++)
    if (wrong[i] && seen++ % step == 0 && i != worst && d->count < most) d->rows[d->count++] = i;
  d->length = d->count * d->p->n * d->parts * d->parts;
}

static dm_status open_doubts(doubts *d) {
  const int64_t n = d->p->n, of_c = d->count * n * d->parts;
  DM_TRY(dm_buffer_table(d->count * d->p->k * d->parts, &d->a));
  DM_TRY(dm_buffer_table(of_c, &d->c));
  if (d->p->reads_c) DM_TRY(dm_buffer_table(of_c, &d->old));
  DM_TRY(dm_buffer_table(n, &d->b_squares));
  DM_TRY(dm_buffer_table(d->length, &d->sums));
  return dm_buffer_table(VERIFY_VECTORS * d->length, &d->all);
}

static void close_doubts(doubts *d) {
  void *const all[] = {d->a, d->c, d->old, d->b_squares, d->sums, d->all};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

static dm_status doubts_read_all(doubts *d) {
  DM_TRY(doubts_read_rows(d, DM_A, d->p->k, d->a));
  DM_TRY(doubts_read_rows(d, DM_C, d->p->n, d->c));
  if (d->old) DM_TRY(doubts_read_rows(d, DM_OLD, d->p->n, d->old));
  return multiply_again(d);
}

dm_status dm_verify_doubts(dm_run *run, const dm_verify *v, const dm_problem *p, uint8_t *wrong,
                           dm_verdict *verdict) {
  doubts d = {.run = run,
              .v = v,
              .p = p,
              .parts = dm_dtype_is_complex(p->work) ? 2 : 1,
              .narrow = dm_dtype_real(p->accumulator) == DM_F32};
  double worst = 0.0;
  DM_TRY(dm_comm_broadcast(run->world, verdict, sizeof *verdict, 0));
  DM_TRY(dm_comm_broadcast(run->world, wrong, p->m, 0));
  const bool may_be_right = !verdict->pass && !verdict->exact && !verdict->strained &&
                            verdict->worst_row >= 0 && verdict->residual <= (double)p->k &&
                            dm_compute_is_plain(&p->compute) && p->half == DM_BOTH_HALVES;
  if (!may_be_right) return DM_OK;
  choose_rows(&d, wrong, verdict->worst_row);
  dm_status status = dm_comm_agree(run->world, open_doubts(&d));
  if (!status) status = doubts_read_all(&d);
  for (int64_t r = 0; r < d.count && !status; r++) {
    const double ratio = ratio_of_row(&d, r);
    worst = ratio <= worst ? worst : ratio; /* NaN, too */
  }
  close_doubts(&d);
  if (status || !(worst <= 1.0)) return status;
  verdict->pass = verdict->doubted = true;
  verdict->residual = worst;
  memset(wrong, 0, (size_t)p->m);
  return DM_OK;
}
