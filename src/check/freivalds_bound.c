/* The bounds of a check, the comparison of its sums with them, and the verdict. */
#include <math.h>
#include <string.h>

#include "check/freivalds_impl.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"

typedef struct roundoffs {
  dm_row_factors factors;
  long double subnormal; /* largest loss of C w to underflow */
  long double column;    /* largest ratio of an element to its term in C w */
  long double limit;     /* of the terms of a C whose elements are in its type's range */
} roundoffs;

/* X 2^EXPONENT. */
static long double freivalds_scaled(long double x, int64_t exponent) {
  return exponent ? scalbnl(x, (int)exponent) : x;
}

/* Over all columns: ||w||, and the largest 1/|w_j|, for C before scaling. */
static void freivalds_take_columns(const dm_freivalds *check, roundoffs *u) {
  long double squares = 0.0L;
  for (int64_t j = 0; j < check->problem.n; j++) {
    const long double w = freivalds_scaled(fabs(check->w[j * check->parts]),
                                           check->col_exponents ? -check->col_exponents[j] : 0);
    squares += w * w;
    if (w > 0.0L && check->col_squares[j] > 0.0) u->column = fmaxl(u->column, 1.0L / w);
  }
  u->subnormal = sqrtl(squares);
}

/* The part of sqrt(k) that rounding errors grow by where a CPU multiplies: C of some rows and
 * columns is summed in chains of at most FREIVALDS_CHAIN terms, whose sums are added. The last term
 * allows for errors of chains that are alike. */
static double bound_growth(const dm_problem *p) {
  enum { FREIVALDS_LINES = 16, FREIVALDS_CHAIN = 512, ALIKE = 16 };
  const double k = (double)p->k;
  if (dm_min(dm_problem_entry_rows(p), p->n) < FREIVALDS_LINES || p->k <= FREIVALDS_CHAIN)
    return 1.0;
  return fmin(1.0, sqrt(FREIVALDS_CHAIN / k + 1.0 / ALIKE));
}

/* C w and B w are sums of n terms in f64, those of complex numbers of products of parts, in chains.
 * Their errors, of the size of the vectors that are summed: measured with k = 1, where nothing
 * hides them, for n from 100 to 10^6 on CPUs; seven standard deviations. */
static double own_roundoff(const dm_problem *p) {
  enum { FREIVALDS_SHARE = 12 };
  const double parts = dm_dtype_is_complex(p->work) ? 4.0 : 1.0;
  return parts * dm_dtype_roundoff(DM_F64) * sqrt(sqrt((double)p->n)) / FREIVALDS_SHARE;
}

dm_row_factors dm_freivalds_factors(const dm_freivalds *check) {
  const dm_problem *p = &check->problem;
  const long double alpha = scalbnl(dm_row_modulus(check->alpha), check->alpha_exponent);
  dm_row_factors f = {
      .accumulate = p->compute.roundoff,
      .input = p->compute.shortening,
      .result = dm_dtype_roundoff(p->c),
      .own = own_roundoff(p),
      .depth = sqrt((double)p->k),
      .unit = (double)(0.5L * (dm_dtype_smallest(p->c) + (alpha * (long double)p->k + 2.0L) *
                                                             dm_dtype_smallest(p->accumulator))),
      .largest = (double)dm_dtype_largest(p->c),
      .reads_c = p->reads_c,
      .scaled = check->row_exponents != NULL};
  if (alpha > 0.0L) /* A B overflows before a small alpha */
    f.largest = (double)fminl(f.largest, alpha * (long double)dm_dtype_largest(p->accumulator));
  memcpy(f.alpha, check->alpha, sizeof f.alpha);
  memcpy(f.beta, check->beta, sizeof f.beta);
  /* Errors grow with k, not with its root, where they have a bias: tensor cores cut off the low
   * bits of sums; and other GPU products add thousands in one chain, whose errors are alike where
   * products are (few values), or where they share their low bits (numbers of few bits less a
   * mean). With pieces of k those of the longest one. */
  const double chain =
      p->compute.piece > 0 ? fmin(f.depth, sqrt((double)p->compute.piece)) : f.depth;
  if (check->from_gpu && (p->compute.truncates || dm_compute_is_plain(&p->compute)))
    f.accumulate *= 1.0 + chain / 16.0;
  f.cancel = !check->from_gpu && dm_compute_is_plain(&p->compute);
  if (f.cancel) f.accumulate *= bound_growth(p);
  return f;
}

double dm_freivalds_unbiased(const dm_row_factors *f) {
  static const double least = 0x1p-14;
  return least + f->result + 4.0 * f->input;
}

double dm_verdict_signed(const dm_verdict *v, bool *cut_off) {
  enum { ERRORS = 4 };                   /* standard ones */
  static const double least_power = .01; /* of C w, which a random w makes small now and then */
  const dm_row_bias *b = &v->bias;
  *cut_off = false;
  if (!(b->power > 0.0)) return 0.0;
  const double mean = b->cross / b->power, error = sqrt(b->noise) / b->power;
  *cut_off = fabs(mean) > v->unbiased + b->allowed / b->rows && fabs(mean) > ERRORS * error &&
             b->power > least_power * b->rows;
  return mean;
}

static roundoffs roundoffs_of(const dm_freivalds *check) {
  roundoffs u = {.factors = dm_freivalds_factors(check)};
  freivalds_take_columns(check, &u);
  u.subnormal *= u.factors.unit;
  u.limit = (long double)u.factors.largest / u.column;
  return u;
}

static void freivalds_compare_exactly(const dm_freivalds *check, const dm_row_totals *rows,
                                      dm_verdict *verdict) {
  const uint64_t *y = (const uint64_t *)rows->y, *z = (const uint64_t *)rows->z,
                 *z0 = (const uint64_t *)rows->z0;
  const uint64_t alpha = (uint64_t)(int64_t)check->alpha[0];
  const uint64_t beta = (uint64_t)(int64_t)check->beta[0];
  for (int64_t i = 0; i < check->problem.m; i++) {
    verdict->rows_checked++;
    if (z[i] == alpha * y[i] + beta * z0[i]) continue;
    if (check->marks) check->marks[i] = 1;
    if (verdict->pass) verdict->worst_row = i;
    verdict->pass = false;
    verdict->residual = verdict->relative = INFINITY;
  }
}

/* What is known of the rows of a thread's turn. */
typedef struct found_turn {
  dm_verdict verdict;
  dm_residual_sizes sizes;
} found_turn;

/* Rows that are compared together. */
typedef struct comparing {
  const dm_freivalds *check;
  const roundoffs *u;
  const dm_row_totals *rows;
  int64_t uncounted;
  found_turn *found; /* of each turn */
} comparing;

enum { FREIVALDS_TURN = 1 << 14 /* rows of a thread's turn */ };

/* Whether the row with these sums passes, and is nearer to A B than one that is known; nearly all
 * are, and need no roots: dm_row_bound is at least twice its first term. */
static bool is_ordinary(const comparing *c, const dm_row_sums *s, const dm_verdict *known) {
  const dm_row_factors *f = &c->u->factors;
  const double difference = s->z[0] - f->alpha[0] * s->y[0], least = f->alpha[0] * f->depth;
  const double products = least * least * s->a_squares, squared = difference * difference;
  const double passes = known->residual < 1.0 ? known->residual : 1.0;
  const double ratio = 2.0 * DM_ROW_SAFETY * f->accumulate * passes;
  return c->check->parts == 1 && !f->reads_c && !f->scaled && s->a_squares >= DM_LEAST_SQUARES &&
         products > 1e-250 && products < 1e250 && squared <= ratio * ratio * products &&
         squared <= known->relative * known->relative * products && s->z_squares < 1e250;
}

/* Compares row ROW of the group whose sums start at FIRST; false: left out. */
static bool compare_row(const comparing *c, int64_t first, int64_t row, found_turn *found_so_far) {
  dm_verdict *verdict = &found_so_far->verdict;
  const dm_freivalds *check = c->check;
  const dm_row_sums sums = dm_freivalds_sums_of(check, c->rows, first + row);
  dm_row_bias_add(&verdict->bias, &c->u->factors, &sums, false);
  dm_freivalds_count(&found_so_far->sizes, &c->u->factors, &sums, row, (row & c->uncounted) == 0);
  if (is_ordinary(c, &sums, verdict)) return true;
  const int64_t exponent = check->row_exponents ? -check->row_exponents[row] : 0;
  const dm_row_found found =
      dm_row_compare(&c->u->factors, &sums, (double)freivalds_scaled(c->u->subnormal, exponent),
                     (double)freivalds_scaled(c->u->limit, exponent), false);
  verdict->strained |= found.strained;
  if (!found.checked) return false;
  if (found.relative > verdict->relative) verdict->relative = found.relative;
  if (check->marks && found.ratio > 1.0) check->marks[row] = 1;
  if (found.ratio > verdict->residual) {
    verdict->residual = found.ratio;
    verdict->worst_row = row;
  }
  return true;
}

static dm_status compare_turn(void *context, int64_t turn) {
  const comparing *c = context;
  const dm_freivalds *check = c->check;
  dm_verdict *found = &c->found[turn].verdict;
  *found = (dm_verdict){.worst_row = -1};
  for (int64_t i = turn * FREIVALDS_TURN; i < dm_min(check->problem.m, (turn + 1) * FREIVALDS_TURN);
       i++) {
    const bool is_nan = dm_freivalds_expects(check->nan_rows, check->rows.begin + i);
    bool whole = !is_nan;
    for (int g = 0; g < check->groups && !is_nan; g++)
      whole &= compare_row(c, g * check->problem.m, i, &c->found[turn]);
    found->rows_checked += whole;
    found->rows_left_out += !whole;
  }
  return DM_OK;
}

/* MORE is of later rows. */
static void join_verdicts(dm_verdict *verdict, const dm_verdict *more) {
  verdict->strained |= more->strained;
  verdict->relative = fmax(verdict->relative, more->relative);
  verdict->rows_checked += more->rows_checked;
  verdict->rows_left_out += more->rows_left_out;
  dm_row_bias_join(&verdict->bias, &more->bias);
  if (!(more->residual > verdict->residual)) return;
  verdict->residual = more->residual;
  verdict->worst_row = more->worst_row;
}

static dm_status freivalds_compare_rows(const dm_freivalds *check, const dm_row_totals *rows,
                                        dm_verdict *verdict) {
  *verdict = (dm_verdict){
      .pass = true, .exact = check->exact, .worst_row = -1, .cols_left_out = check->cols_left_out};
  verdict->strained = check->strained && !check->exact;
  verdict->cols_checked = check->problem.n - check->cols_left_out;
  if (check->exact) {
    freivalds_compare_exactly(check, rows, verdict);
    return DM_OK;
  }
  const roundoffs u = roundoffs_of(check);
  verdict->unbiased = dm_freivalds_unbiased(&u.factors);
  const int64_t turns = dm_ceil_div(check->problem.m, FREIVALDS_TURN);
  DM_FREED found_turn *found = NULL;
  dm_residual_sizes sizes = {0};
  DM_TRY(dm_buffer_table(dm_max(1, turns), &found));
  comparing c = {check, &u, rows, dm_freivalds_uncounted(check->problem.m), found};
  DM_TRY(dm_fork_each(turns, turns > 1 ? 0 : 1, compare_turn, &c));
  for (int64_t t = 0; t < turns; t++) {
    join_verdicts(verdict, &found[t].verdict);
    dm_freivalds_join_sizes(&sizes, &found[t].sizes);
  }
  verdict->pass = verdict->residual <= 1.0;
  dm_freivalds_suspect(check, &u.factors, rows, &sizes, verdict);
  return DM_OK;
}

/* ---- the sums of all ranks, and the verdict ---- */

static dm_status sum_copy(const dm_freivalds *check, const dm_comm *comm, const double *vector,
                          double *copy, bool wide) {
  const int64_t rows = check->groups * check->problem.m;
  memcpy(copy, vector, (size_t)(rows * (wide ? check->parts : 1)) * sizeof(double));
  return wide ? dm_freivalds_sum_wide(check, comm, copy, rows) : dm_comm_sum_f64(comm, copy, rows);
}

/* Sums over ranks go to copies, so that judging can be repeated. */
static dm_status freivalds_sum_rows(const dm_freivalds *check, const dm_comm *comm, double *sums,
                                    dm_row_totals *rows) {
  const int64_t m = check->groups * check->problem.m, wide = m * check->parts;
  *rows = (dm_row_totals){.y = sums,
                          .z = sums + wide,
                          .z0 = sums + 2 * wide,
                          .a_squares = sums + 3 * wide,
                          .z_squares = sums + 3 * wide + m,
                          .z0_squares = sums + 3 * wide + 2 * m};
  DM_TRY(sum_copy(check, comm, check->y, rows->y, true));
  DM_TRY(sum_copy(check, comm, check->z, rows->z, true));
  DM_TRY(sum_copy(check, comm, check->row_squares, rows->a_squares, false));
  DM_TRY(sum_copy(check, comm, check->z_squares, rows->z_squares, false));
  if (!check->problem.reads_c) return DM_OK;
  DM_TRY(sum_copy(check, comm, check->z0, rows->z0, true));
  return sum_copy(check, comm, check->z0_squares, rows->z0_squares, false);
}

/* Sets ROWS. *SUMS is their memory; NULL: they are the check's own. */
static dm_status rows_of_all(const dm_freivalds *check, const dm_comm *comm, double **sums,
                             dm_row_totals *rows) {
  const int64_t m = check->groups * check->problem.m;
  *sums = NULL;
  *rows = (dm_row_totals){.y = check->y,
                          .z = check->z,
                          .z0 = check->z0,
                          .a_squares = check->row_squares,
                          .z_squares = check->z_squares,
                          .z0_squares = check->z0_squares};
  if (dm_comm_size(comm) == 1) return DM_OK;
  DM_TRY(dm_buffer_table(3 * m * check->parts + 3 * m, sums));
  return freivalds_sum_rows(check, comm, *sums, rows);
}

dm_status dm_freivalds_judge(dm_freivalds *check, const dm_comm *comm, dm_verdict *verdict) {
  double squares = 0.0;
  DM_FREED double *sums = NULL;
  dm_row_totals rows;
  DM_TRY(dm_freivalds_arrive(check));
  DM_TRY(rows_of_all(check, comm, &sums, &rows));
  for (int64_t i = 0; i < check->problem.m; i++) squares += check->c_squares[i];
  DM_TRY(dm_comm_sum_f64(comm, &squares, 1));
  DM_TRY(freivalds_compare_rows(check, &rows, verdict));
  verdict->norm = sqrt(squares);
  verdict->drawn = true;
  verdict->seed = check->seed;
  if (verdict->worst_row >= 0) verdict->worst_row += check->rows.begin;
  verdict->suspect_row += check->rows.begin;
  return DM_OK;
}
