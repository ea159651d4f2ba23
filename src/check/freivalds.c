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
  const int64_t wide = check->parts * (int64_t)sizeof(double), real = sizeof(double);
  const dm_problem *p = &check->problem;
  DM_TRY(dm_buffer_zeroed(p->n, real, (void **)&check->col_squares));
  DM_TRY(dm_buffer_zeroed(p->n, wide, (void **)&check->w));
  DM_TRY(dm_buffer_zeroed(p->k, wide, (void **)&check->t));
  DM_TRY(dm_buffer_zeroed(p->k, wide, (void **)&check->ones));
  DM_TRY(dm_buffer_zeroed(p->m, wide, (void **)&check->y));
  DM_TRY(dm_buffer_zeroed(p->m, wide, (void **)&check->z));
  DM_TRY(dm_buffer_zeroed(p->m, wide, (void **)&check->z0));
  DM_TRY(dm_buffer_zeroed(p->m, wide, (void **)&check->scratch));
  DM_TRY(dm_buffer_zeroed(p->m, real, (void **)&check->row_squares));
  DM_TRY(dm_buffer_zeroed(p->m, real, (void **)&check->z_squares));
  DM_TRY(dm_buffer_zeroed(p->m, real, (void **)&check->c_squares));
  return dm_buffer_zeroed(p->m, real, (void **)&check->z0_squares);
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
  memcpy(check->alpha, alpha, sizeof check->alpha);
  memcpy(check->beta, beta, sizeof check->beta);
  dm_status status = allocate(check);
  if (status) {
    dm_freivalds_free(check);
    return status;
  }
  for (int64_t i = 0; i < problem->k && !check->exact; i++) check->ones[i * check->parts] = 1.0;
  *out = check;
  return DM_OK;
}

void dm_freivalds_free(dm_freivalds *check) {
  if (!check) return;
  double *const vectors[] = {check->col_squares, check->w,          check->t,
                             check->ones,        check->y,          check->z,
                             check->z0,          check->scratch,    check->row_squares,
                             check->z_squares,   check->z0_squares, check->c_squares};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) free(vectors[i]);
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
    uint64_t bits = dm_random_bits(WEIGHT_SEED, 0, check->cols.begin + j, 0) | 1u;
    memcpy(&check->w[j], &bits, sizeof bits);
  }
}

double dm_freivalds_sign(int64_t j) {
  return dm_random_bits(WEIGHT_SEED, 0, j, 0) >> 63 ? -1.0 : 1.0;
}

dm_status dm_freivalds_weigh(dm_freivalds *check, const dm_comm *comm) {
  if (check->exact) {
    weigh_exactly(check);
    return DM_OK;
  }
  DM_TRY(dm_comm_sum_f64(comm, check->col_squares, check->problem.n));
  check->q = 0.0;
  for (int64_t j = 0; j < check->problem.n; j++) {
    double norm = sqrt(check->col_squares[j]);
    double sign = dm_freivalds_sign(check->cols.begin + j), weight = sign;
    if (!isfinite(norm)) {
      weight = 0.0;
      check->cols_left_out++;
    } else if (norm > 1e-140) { /* a column of zeros, or nearly, keeps weight 1 */
      weight = sign / norm;
      check->q += 1.0;
    }
    check->w[j * check->parts] = weight;
    check->largest_column = fmax(check->largest_column, isfinite(norm) ? norm : 0.0);
  }
  check->q = sqrt(check->q);
  return DM_OK;
}

dm_status dm_freivalds_add_b(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  view = part_of(check, view, &row, &col, false, true);
  if (dm_view_is_empty(view)) return DM_OK;
  return probe(backend, view, check->w + col * check->parts, check->t + row * check->parts, NULL);
}

/* Sums of the wide type: whole numbers lie in the same arrays. */
static dm_status sum(const dm_freivalds *check, const dm_comm *comm, double *vector,
                     int64_t count) {
  if (check->exact) return dm_comm_sum_i64(comm, (int64_t *)vector, count);
  return dm_comm_sum_f64(comm, vector, count * check->parts);
}

dm_status dm_freivalds_project(dm_freivalds *check, const dm_comm *comm) {
  return sum(check, comm, check->t, check->problem.k);
}

dm_status dm_freivalds_add_a(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  const int parts = check->parts;
  view = part_of(check, view, &row, &col, true, false);
  if (dm_view_is_empty(view)) return DM_OK;
  double *t = check->t + col * parts, *y = check->y + row * parts;
  if (tells_norms(check, backend, view)) {
    dm_host_probe_norms(view, t, y, NULL, check->row_squares + row);
    return DM_OK;
  }
  DM_TRY(probe(backend, view, t, y, NULL));
  if (check->exact) return DM_OK;
  return probe(backend, view, check->ones + col * parts, check->scratch + row * parts,
               check->row_squares + row);
}

dm_status dm_freivalds_add_c(dm_freivalds *check, dm_backend *backend, dm_view view, int64_t row,
                             int64_t col) {
  const int parts = check->parts;
  view = part_of(check, view, &row, &col, true, true);
  if (dm_view_is_empty(view)) return DM_OK;
  double squares = 0.0, *w = check->w + col * parts, *z = check->z + row * parts;
  if (tells_norms(check, backend, view)) {
    dm_host_probe_norms(view, w, z, check->z_squares + row, check->c_squares + row);
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
