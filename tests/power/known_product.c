#include "known_product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/element.h"
#include "plan/buffers.h"

const char *const data_names[DATA_KINDS] = {
    "normal",         "positive", "range",  "range of rows", "range of columns",
    "range of depth", "sparse",   "whole",  "centered",      "cancelling",
    "constant",       "contrast", "outlier"};

static const double one[2] = {1.0, 0.0}, none[2] = {0.0, 0.0};

dm_view known_view(const known_product *p, int matrix, void *base) {
  const dm_problem *q = &p->problem;
  return dm_view_row_major(base, matrix == DM_C ? q->c : q->work, matrix == DM_B ? q->k : q->m,
                           matrix == DM_A ? q->k : q->n);
}

static dm_dtype wide_type(const known_product *p) {
  return p->parts == 2 ? DM_C128 : DM_F64;
}

void known_widen(const known_product *p, const void *c, double *wide) {
  const dm_view from = known_view(p, DM_C, (void *)(uintptr_t)c);
  const int64_t count = from.rows * from.cols;
  if (from.dtype == DM_I32)
    for (int64_t i = 0; i < count; i++) wide[i] = ((const int32_t *)c)[i];
  else
    dm_copy(dm_view_row_major(wide, wide_type(p), from.rows, from.cols), from, false);
}

/* ---- data ---- */

/* A power of ten, up to that one and its inverse. */
static double power_of_ten(const known_product *p, uint64_t seed, int64_t row, int64_t col) {
  const double most = p->problem.work == DM_F16 ? 1.0 : 6.0;
  return pow(10.0, most * (2.0 * dm_unit(dm_random_bits(seed, row, col, 60)) - 1.0));
}

static double element(const known_product *p, int matrix, int64_t row, int64_t col) {
  const uint64_t seed = 2 * p->seed + (matrix == DM_B);
  const int64_t along_k = matrix == DM_A ? col : row;
  const double normal = dm_normal(seed, row, col, 0);
  const double unit = dm_unit(dm_random_bits(seed, row, col, 61));
  const double depth = power_of_ten(p, p->seed, along_k, -1);
  const double whole = p->problem.work == DM_F16 ? 7.0 : 100.0; /* f16 overflows at 65504 */
  switch (p->data) {
  case POSITIVE:
    return unit;
  case RANGE:
    return normal * power_of_ten(p, seed, row, col);
  case RANGE_ROWS:
    return matrix == DM_A ? normal * power_of_ten(p, seed, row, -1) : normal;
  case RANGE_COLS:
    return matrix == DM_B ? normal * power_of_ten(p, seed, -1, col) : normal;
  case RANGE_DEPTH:
    return matrix == DM_A ? normal * depth : normal / depth;
  case SPARSE:
    return unit < 0.1 ? normal : 0.0;
  case WHOLE:
    return floor((2.0 * whole + 1.0) * unit) - whole;
  case CENTERED:
    return floor(8.0 * unit) - 3.3;
  case CANCELLING:
    return matrix == DM_A && 2 * along_k >= p->problem.k ? -unit : unit;
  case CONSTANT:
    return matrix == DM_A ? 0.1 : 1.7;
  case CONTRAST:
    return matrix == DM_B ? 1.7 : 3 * col < p->problem.k ? 0.67 : -0.33;
  case OUTLIER:
    return matrix == DM_B ? 1.7 : col == row % p->problem.k ? 3e3 : 0.1;
  default:
    return normal;
  }
}

static void fill(known_product *p, int matrix, void *typed, double *wide) {
  const dm_view view = known_view(p, matrix, typed);
  const int64_t count = view.rows * view.cols, parts = p->parts;
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols * parts; j++)
      wide[i * view.cols * parts + j] = element(p, matrix, i, j);
  if (view.dtype == DM_I8) {
    for (int64_t i = 0; i < count; i++) ((int8_t *)typed)[i] = (int8_t)wide[i];
    return;
  }
  const dm_view as_wide = dm_view_row_major(wide, wide_type(p), view.rows, view.cols);
  dm_copy(view, as_wide, false);
  dm_copy(as_wide, view, false);
}

/* ---- the product ---- */

static dm_status multiply_whole(known_product *p, dm_view c, dm_event *done) {
  const dm_view a = known_view(p, DM_A, p->a), b = known_view(p, DM_B, p->b);
  const dm_whole_product whole = {.c = c, .a = a, .b = b, .alpha = {1.0}};
  if (dm_backend_can_multiply(p->backend, &whole))
    return dm_backend_multiply(p->backend, &whole, NULL, done);
  return dm_backend_gemm(p->backend, c, a, b, false, done);
}

/* Narrow results are rounded from their sums, as the engine does. */
dm_status known_product_multiply(known_product *p, void *c) {
  const dm_problem *q = &p->problem;
  const dm_view to = known_view(p, DM_C, c);
  const dm_view sums = dm_view_row_major(c, q->accumulator, q->m, q->n);
  dm_event done;
  void *wide = NULL;
  if (q->accumulator == q->c) {
    DM_TRY(multiply_whole(p, sums, &done));
    return dm_backend_wait(p->backend, done);
  }
  DM_TRY(dm_buffer_alloc(q->m * q->n * dm_dtype_size(q->accumulator), &wide));
  dm_view first = dm_view_row_major(wide, q->accumulator, q->m, q->n);
  dm_status status = multiply_whole(p, first, &done);
  if (!status) status = dm_backend_wait(p->backend, done);
  if (!status) dm_copy(to, first, false);
  free(wide);
  return status;
}

static void multiply_exactly(known_product *p) {
  const dm_problem *q = &p->problem;
  for (int64_t i = 0; i < q->m; i++)
    for (int64_t l = 0; l < q->k; l++)
      for (int x = 0; x < p->parts; x++) {
        const long double a = p->wide_a[(i * q->k + l) * p->parts + x];
        const double *b = p->wide_b + l * q->n * p->parts;
        long double *c = p->exact + i * q->n * p->parts;
        if (a == 0.0L) continue;
        if (p->parts == 1) {
          for (int64_t j = 0; j < q->n; j++) c[j] += a * b[j];
        } else {
          for (int64_t j = 0; j < q->n; j++) {
            c[2 * j + x] += a * b[2 * j];
            c[2 * j + 1 - x] += (x ? -a : a) * b[2 * j + 1];
          }
        }
      }
}

/* ---- errors ---- */

static void find_units(known_product *p) {
  const dm_problem *q = &p->problem;
  for (int64_t j = 0; j < q->n; j++) {
    double squares = 0.0;
    for (int64_t l = 0; l < q->k; l++)
      for (int x = 0; x < p->parts; x++) {
        const double b = p->wide_b[(l * q->n + j) * p->parts + x];
        squares += b * b;
      }
    p->units[j] = squares > 0.0 ? 1.0 / sqrt(squares) : 1.0;
  }
}

static void find_errors(known_product *p) {
  const dm_problem *q = &p->problem;
  const double least = 0.3 * fmax(dm_dtype_roundoff(q->c), q->compute.roundoff);
  const double lost =
      0.5 * (dm_dtype_smallest(q->c) + (double)(q->k + 2) * dm_dtype_smallest(q->accumulator));
  for (int64_t i = 0; i < q->m; i++) {
    double error = 0.0, size = 0.0, units = 0.0;
    for (int64_t j = 0; j < q->n * p->parts; j++) {
      const int64_t at = i * q->n * p->parts + j;
      const double off = (double)(p->wide_c[at] - p->exact[at]) * p->units[j / p->parts];
      const double c = p->wide_c[at] * p->units[j / p->parts];
      error += off * off;
      size += c * c;
      units += p->units[j / p->parts] * p->units[j / p->parts];
    }
    p->errors[i] = fmax(sqrt(error), least * sqrt(size) + lost * sqrt(units));
  }
}

double known_product_multiple(const known_product *p, const void *c, double *wide) {
  const dm_problem *q = &p->problem;
  double most = 0.0;
  known_widen(p, c, wide);
  for (int64_t i = 0; i < q->m; i++) {
    double squares = 0.0;
    for (int64_t j = 0; j < q->n * p->parts; j++) {
      const int64_t at = i * q->n * p->parts + j;
      const double by = (wide[at] - p->wide_c[at]) * p->units[j / p->parts];
      squares += by * by;
    }
    if (!(squares > 0.0) && squares == squares) continue;
    const double multiple = sqrt(squares) / p->errors[i]; /* whole numbers: any change */
    if (!(multiple <= most)) most = multiple == multiple ? multiple : INFINITY;
  }
  return most;
}

/* ---- the verification ---- */

static dm_status add_operands(known_product *p, bool groups) {
  enum { GROUPED = 512 }; /* as product/in_place_multiply.c */
  const dm_problem *q = &p->problem;
  const dm_view a = known_view(p, DM_A, p->a), b = known_view(p, DM_B, p->b);
  DM_TRY(dm_freivalds_new(q, one, none, false, dm_check_room(q->k, 0), &p->check));
  if (!groups && q->n < GROUPED) dm_freivalds_join_groups(p->check);
  dm_freivalds_repeat(p->check, (dm_check_seed){true, dm_mix(p->seed)}, 0);
  DM_TRY(dm_freivalds_scan_b(p->check, p->backend, b, 0, 0));
  DM_TRY(dm_freivalds_weigh(p->check, p->run->world));
  for (int64_t k = 0; dm_freivalds_turn_to_row(p->check, k); k += dm_freivalds_room(p->check)) {
    DM_TRY(dm_freivalds_add_b(p->check, p->backend, b, 0, 0));
    DM_TRY(dm_freivalds_project(p->check, p->run->world));
    DM_TRY(dm_freivalds_add_a(p->check, p->backend, a, 0, 0));
  }
  const dm_whole_product whole = {.c = known_view(p, DM_C, p->c), .a = a, .b = b, .alpha = {1.0}};
  const dm_row_factors factors = dm_freivalds_factors(p->check);
  if (groups || q->n >= GROUPED || !dm_entry_sums_suit(q, &whole)) return DM_OK;
  DM_TRY(dm_entry_sums_new(q, &factors, dm_mix(p->seed), &p->entry));
  if (dm_entry_sums_operands(p->entry, a, b)) return DM_OK;
  dm_entry_sums_free(p->entry);
  p->entry = NULL;
  return DM_OK;
}

dm_status known_product_judge(known_product *p, const void *c, dm_verdict *verdict) {
  const dm_view view = known_view(p, DM_C, (void *)(uintptr_t)c);
  dm_freivalds_reset_c(p->check);
  DM_TRY(dm_freivalds_add_c(p->check, p->backend, view, 0, 0));
  DM_TRY(dm_freivalds_judge(p->check, p->run->world, verdict));
  /* What does not plainly pass as an entry is judged as above. */
  if (p->entry && !verdict->pass) verdict->pass = dm_entry_sums_judge(p->entry, view, 0);
  p->matrix[DM_C].local = view;
  if (verdict->pass && verdict->suspect)
    return dm_verify_suspect(p->run, &p->verify, &p->problem, verdict);
  if (verdict->pass || verdict->exact || !(verdict->residual <= (double)p->problem.k)) return DM_OK;
  return dm_verify_residual(p->run, &p->verify, &p->problem, verdict);
}

static dm_status open_matrices(known_product *p) {
  void *const bases[3] = {p->a, p->b, p->c};
  p->verify = (dm_verify){.equation = {.alpha = {1.0}, .type = DM_DTYPE_NONE},
                          .seed = {true, dm_mix(p->seed)}};
  for (int x = DM_A; x <= DM_C; x++) {
    const dm_view view = known_view(p, x, bases[x]);
    const dm_memory_matrix stated = {.division = DM_ON_ONE,
                                     .dtype = view.dtype,
                                     .rows = view.rows,
                                     .cols = view.cols,
                                     .data = bases[x],
                                     .row_stride = view.row_stride,
                                     .col_stride = view.col_stride};
    DM_TRY(dm_distributed_open(p->run->world, &stated, data_names[p->data], &p->matrix[x]));
    p->verify.memory[x] = &p->matrix[x];
  }
  return DM_OK;
}

/* ---- all of it ---- */

static dm_status allocate(known_product *p, bool exact) {
  const dm_problem *q = &p->problem;
  const int64_t parts = p->parts, size = dm_dtype_size(q->work);
  const int64_t of_a = q->m * q->k, of_b = q->k * q->n, of_c = q->m * q->n;
  DM_TRY(dm_buffer_alloc(of_a * size, &p->a));
  DM_TRY(dm_buffer_alloc(of_b * size, &p->b));
  DM_TRY(dm_buffer_alloc(of_c * dm_dtype_size(q->c), &p->c));
  DM_TRY(dm_buffer_table(of_a * parts, &p->wide_a));
  DM_TRY(dm_buffer_table(of_b * parts, &p->wide_b));
  if (!exact) return DM_OK;
  DM_TRY(dm_buffer_table(of_c * parts, &p->wide_c));
  DM_TRY(dm_buffer_table(of_c * parts, &p->exact));
  DM_TRY(dm_buffer_table(q->n, &p->units));
  return dm_buffer_table(q->m, &p->errors);
}

void known_product_free(known_product *p) {
  if (!p) return;
  dm_freivalds_free(p->check);
  dm_entry_sums_free(p->entry);
  for (int x = DM_A; x <= DM_C; x++) dm_distributed_close(&p->matrix[x]);
  void *const all[] = {p->a,      p->b,     p->c,     p->wide_a, p->wide_b,
                       p->wide_c, p->exact, p->units, p->errors, p};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

static dm_status make(known_product *p, const known_wish *wish) {
  DM_TRY(allocate(p, wish->exact));
  fill(p, DM_A, p->a, p->wide_a);
  fill(p, DM_B, p->b, p->wide_b);
  DM_TRY(known_product_multiply(p, p->c));
  DM_TRY(add_operands(p, wish->groups));
  DM_TRY(open_matrices(p));
  DM_TRY(known_product_judge(p, p->c, &p->clean));
  if (!wish->exact) return DM_OK;
  known_widen(p, p->c, p->wide_c);
  multiply_exactly(p);
  find_units(p);
  find_errors(p);
  return DM_OK;
}

dm_status known_product_new(dm_run *run, dm_backend *backend, const known_wish *wish,
                            known_product **product) {
  known_product *p = calloc(1, sizeof *p);
  if (!p) return dm_fail(DM_E_FIT, "no memory for a product");
  const dm_compute *compute = dm_compute_by((dm_operand)wish->work);
  *p = (known_product){.problem = {.m = wish->m,
                                   .n = wish->n,
                                   .k = wish->k,
                                   .work = wish->work,
                                   .accumulator = dm_compute_sum(wish->work),
                                   .c = wish->c,
                                   .compute = *compute},
                       .data = wish->data,
                       .seed = wish->seed,
                       .backend = backend,
                       .run = run,
                       .parts = dm_dtype_is_complex(wish->work) ? 2 : 1};
  *product = p;
  return make(p, wish);
}
