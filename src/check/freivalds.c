#include "check/freivalds.h"
#include "backend/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/freivalds_impl.h"
#include "core/buffer.h"
#include "core/checked.h"

enum { WEIGHT_SEED = 0x64616d69 };

static dm_status allocate(dm_freivalds *check) {
  const dm_problem *p = &check->problem;
  const int64_t m = p->m, n = p->n, k = p->k, parts = check->parts;
  double *at;
  DM_TRY(dm_buffer_table((parts + 1) * n + (parts + 1) * k + (4 * parts + 4) * m, &at));
  check->memory = at;
  double **const vectors[] = {&check->col_squares, &check->w,          &check->t,
                              &check->sizes,       &check->y,          &check->z,
                              &check->z0,          &check->scratch,    &check->row_squares,
                              &check->z_squares,   &check->z0_squares, &check->c_squares};
  const int64_t counts[] = {n,         parts * n, parts * k, k, parts * m, parts * m,
                            parts * m, parts * m, m,         m, m,         m};
  for (int i = 0; i < 12; at += counts[i++]) *vectors[i] = at;
  return DM_OK;
}

dm_status dm_freivalds_new(const dm_problem *problem, const double alpha[2], const double beta[2],
                           bool tensor, dm_freivalds **out) {
  return dm_freivalds_new_part(problem, alpha, beta, tensor, (dm_range){0, problem->m},
                               (dm_range){0, problem->n}, out);
}

dm_status dm_freivalds_new_part(const dm_problem *problem, const double alpha[2],
                                const double beta[2], bool tensor, dm_range rows, dm_range cols,
                                dm_freivalds **out) {
  dm_freivalds *check = calloc(1, sizeof *check);
  if (!check) return dm_fail(DM_E_FIT, "no memory for the verification");
  check->problem = *problem;
  check->problem.m = rows.end - rows.begin;
  check->problem.n = cols.end - cols.begin;
  check->rows = rows;
  check->cols = cols;
  check->exact = dm_dtype_is_integer(problem->work);
  check->parts = dm_dtype_is_complex(problem->work) ? 2 : 1;
  check->tensor = tensor;
  check->seed = WEIGHT_SEED;
  memcpy(check->alpha, alpha, sizeof check->alpha);
  memcpy(check->beta, beta, sizeof check->beta);
  dm_status status = allocate(check);
  if (status) {
    dm_freivalds_free(check);
    return status;
  }
  *out = check;
  return DM_OK;
}

void dm_freivalds_draw(dm_freivalds *check, int draw) {
  check->seed = WEIGHT_SEED + (uint64_t)draw;
}

void dm_freivalds_mark(dm_freivalds *check, uint8_t *rows) {
  check->marks = rows;
}

void dm_freivalds_free(dm_freivalds *check) {
  if (!check) return;
  free(check->memory);
  free(check);
}

/* What of COUNT rows or columns, from *FROM on, lies in PART; *from is counted in it afterwards. */
static dm_range clip(dm_range part, int64_t *from, int64_t count) {
  const int64_t begin = dm_min(dm_max(part.begin, *from), *from + count);
  const int64_t end = dm_min(part.end, *from + count);
  const dm_range clipped = {begin - *from, dm_max(begin, end) - *from};
  *from = begin - part.begin;
  return clipped;
}

/* What of a view at (*row, *col) of a matrix is of the part that is checked.  Rows of op(A) and C
 * are those of the part, and columns of op(B) and C; k is whole. */
static dm_view part_of(const dm_freivalds *check, dm_view view, int64_t *row, int64_t *col,
                       bool by_rows, bool by_cols) {
  const dm_range k = {0, check->problem.k};
  const dm_range rows = clip(by_rows ? check->rows : k, row, view.rows);
  const dm_range cols = clip(by_cols ? check->cols : k, col, view.cols);
  return dm_view_sub(view, rows.begin, cols.begin, rows.end - rows.begin, cols.end - cols.begin);
}

static dm_status probe(dm_backend *backend, dm_view view, const double *x, double *y,
                       double *squares) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (backend) return dm_backend_probe(backend, view, x, y, squares);
  return dm_host_probe(NULL, view, x, y, squares);
}

/* Whether one look at VIEW can tell the norms of its rows, too. */
static bool tells_norms(const dm_freivalds *check, const dm_backend *backend, dm_view view) {
  return !check->exact && view.space == DM_HOST && !(backend && backend->ops->device_memory);
}

dm_status dm_freivalds_scan_b(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                              int64_t col) {
  view = part_of(check, view, &row, &col, false, true);
  if (check->exact || dm_view_is_empty(view)) return DM_OK;
  double *squares = check->col_squares + col;
  return backend ? dm_backend_scan(backend, view, squares) : dm_host_scan(NULL, view, squares);
}

/* Whole numbers get 64 random bits each: a wrong element goes unseen once in 2^64 cases. */
static void weigh_exactly(dm_freivalds *check) {
  for (int64_t j = 0; j < check->problem.n; j++) {
    uint64_t bits = dm_random_bits(check->seed, 0, check->cols.begin + j, 0) | 1u;
    memcpy(&check->w[j], &bits, sizeof bits);
  }
}

/* Signs alone would let the same error in two columns cancel every other time. */
double dm_freivalds_factor(const dm_freivalds *check, int64_t j) {
  const uint64_t bits = dm_random_bits(check->seed, 0, j, 0);
  const double size = 1.0 + 0x1p-52 * (double)(bits & ((UINT64_C(1) << 52) - 1));
  return bits >> 63 ? -size : size;
}

dm_status dm_freivalds_weigh(dm_freivalds *check, const dm_comm *comm) {
  if (check->exact) {
    weigh_exactly(check);
    return DM_OK;
  }
  DM_TRY(dm_comm_sum_f64(comm, check->col_squares, check->problem.n));
  for (int64_t j = 0; j < check->problem.n; j++) {
    double norm = sqrt(check->col_squares[j]);
    double factor = dm_freivalds_factor(check, check->cols.begin + j), weight = factor;
    if (!isfinite(norm)) {
      weight = 0.0;
      check->cols_left_out++;
      check->strained = true;
    } else if (check->col_squares[j] > dm_least_squares) {
      weight = factor / norm;
    } else if (norm > 0.0) { /* nearly zeros; a column of zeros keeps it, too */
      check->strained = true;
    }
    check->w[j * check->parts] = weight;
  }
  return DM_OK;
}

dm_status dm_freivalds_add_b(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  view = part_of(check, view, &row, &col, false, true);
  if (dm_view_is_empty(view)) return DM_OK;
  return probe(backend, view, check->w + col * check->parts, check->t + row * check->parts,
               check->exact ? NULL : check->sizes + row);
}

/* Sums of the wide type: whole numbers lie in the same arrays. */
static dm_status sum(const dm_freivalds *check, const dm_comm *comm, double *vector,
                     int64_t count) {
  if (check->exact) return dm_comm_sum_i64(comm, (int64_t *)vector, count);
  return dm_comm_sum_f64(comm, vector, count * check->parts);
}

/* What a probe multiplies by 0 it does not look at, and NaN in A must be seen. */
void dm_freivalds_take_roots(dm_freivalds *check, int64_t row, int64_t count) {
  for (int64_t i = row; i < row + count; i++) {
    const double squares = check->sizes[i], *t = check->t + i * check->parts;
    const bool is_zero = t[0] == 0.0 && (check->parts == 1 || t[1] == 0.0);
    check->strained |= !isfinite(squares) || (squares < dm_least_squares && !is_zero);
    check->sizes[i] = fmax(sqrt(squares), 0x1p-1000);
  }
}

dm_status dm_freivalds_project(dm_freivalds *check, const dm_comm *comm) {
  const int64_t k = check->problem.k;
  DM_TRY(sum(check, comm, check->t, k));
  if (check->exact) return DM_OK;
  DM_TRY(dm_comm_sum_f64(comm, check->sizes, k));
  dm_freivalds_take_roots(check, 0, k);
  return DM_OK;
}

/* Squares of |A(i,k) sizes_k|, where one look at VIEW cannot tell them, too. */
static dm_status add_sizes(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                           int64_t col) {
  const double *sizes = check->sizes + col;
  double *wide = NULL, *unused = check->scratch + row * check->parts;
  if (check->parts == 1) return probe(backend, view, sizes, unused, check->row_squares + row);
  DM_TRY(dm_buffer_table(2 * view.cols, &wide));
  for (int64_t j = 0; j < view.cols; j++) wide[2 * j] = sizes[j];
  dm_status status = probe(backend, view, wide, unused, check->row_squares + row);
  free(wide);
  return status;
}

dm_status dm_freivalds_add_a(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  const int parts = check->parts;
  view = part_of(check, view, &row, &col, true, false);
  if (dm_view_is_empty(view)) return DM_OK;
  double *t = check->t + col * parts, *y = check->y + row * parts;
  if (tells_norms(check, backend, view)) {
    dm_host_probe_norms_parallel(view, t, y, NULL, check->sizes + col, check->row_squares + row);
    return DM_OK;
  }
  DM_TRY(probe(backend, view, t, y, NULL));
  return check->exact ? DM_OK : add_sizes(check, backend, view, row, col);
}

dm_status dm_freivalds_add_c(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  const int parts = check->parts;
  view = part_of(check, view, &row, &col, true, true);
  if (dm_view_is_empty(view)) return DM_OK;
  double squares = 0.0, *w = check->w + col * parts, *z = check->z + row * parts;
  if (tells_norms(check, backend, view)) {
    dm_host_probe_norms_parallel(view, w, z, check->z_squares + row, NULL, check->c_squares + row);
    return DM_OK;
  }
  DM_TRY(backend ? dm_backend_dot(backend, view, view, &squares)
                 : dm_host_dot(NULL, view, view, &squares));
  check->c_squares[row] += squares;
  return probe(backend, view, w, z, check->z_squares + row);
}

dm_status dm_freivalds_add_c0(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                              int64_t col) {
  const int parts = check->parts;
  view = part_of(check, view, &row, &col, true, true);
  if (dm_view_is_empty(view)) return DM_OK;
  return probe(backend, view, check->w + col * parts, check->z0 + row * parts,
               check->z0_squares + row);
}

void dm_freivalds_scaled(dm_freivalds *check, const int64_t *rows, const int64_t *cols, int alpha) {
  check->row_exponents = rows;
  check->col_exponents = cols;
  check->alpha_exponent = alpha;
}

void dm_freivalds_reset_c(dm_freivalds *check) {
  const size_t wide = (size_t)check->problem.m * (size_t)check->parts * sizeof(double);
  memset(check->z, 0, wide);
  memset(check->z_squares, 0, (size_t)check->problem.m * sizeof(double));
  memset(check->c_squares, 0, (size_t)check->problem.m * sizeof(double));
}

/* The other ranks' shares are summed into copies, so that a verdict can be asked for again. */
static dm_status sum_copy(const dm_freivalds *check, const dm_comm *comm, const double *vector,
                          double *copy, bool wide) {
  size_t bytes = (size_t)check->problem.m * (wide ? (size_t)check->parts : 1) * sizeof(double);
  memcpy(copy, vector, bytes);
  if (wide) return sum(check, comm, copy, check->problem.m);
  return dm_comm_sum_f64(comm, copy, check->problem.m);
}

dm_status dm_freivalds_judge(dm_freivalds *check, const dm_comm *comm, dm_verdict *verdict) {
  const int64_t m = check->problem.m;
  const int64_t wide = m * check->parts;
  double *sums;
  DM_TRY(dm_buffer_zeroed(3 * wide + 3 * m, sizeof(double), (void **)&sums));
  dm_rows_checked rows = {.y = sums,
                          .z = sums + wide,
                          .z0 = sums + 2 * wide,
                          .a_squares = sums + 3 * wide,
                          .z_squares = sums + 3 * wide + m,
                          .z0_squares = sums + 3 * wide + 2 * m};
  dm_status status = sum_copy(check, comm, check->y, rows.y, true);
  if (!status) status = sum_copy(check, comm, check->z, rows.z, true);
  if (!status) status = sum_copy(check, comm, check->row_squares, rows.a_squares, false);
  if (!status) status = sum_copy(check, comm, check->z_squares, rows.z_squares, false);
  if (!status && check->problem.reads_c) {
    status = sum_copy(check, comm, check->z0, rows.z0, true);
    if (!status) status = sum_copy(check, comm, check->z0_squares, rows.z0_squares, false);
  }
  double squares = 0.0;
  for (int64_t i = 0; i < m; i++) squares += check->c_squares[i];
  if (!status) status = dm_comm_sum_f64(comm, &squares, 1);
  if (!status) dm_freivalds_compare(check, &rows, verdict);
  verdict->norm = sqrt(squares);
  if (verdict->worst_row >= 0) verdict->worst_row += check->rows.begin;
  free(sums);
  return status;
}
