#include "emulated/emulated_checked.h"

#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "backend/probe.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "emulated/emulated_memory.h"

/* The vectors of check/freivalds.h, in one group; numbers of the wide type, or int64_t. */
typedef struct checking {
  const dm_verified_product *product;
  dm_view a, b, c;                  /* as host memory */
  int64_t rows, cols, depth, width; /* depth: rows of op(B), of all entries */
  int64_t rows_of_a;                /* whose sums are taken: those of C, or of all ranks */
  int64_t entries, step;
  bool exact;
  double *memory, *col_squares, *w, *t, *sizes;                            /* sizes follow t */
  double *y, *a_squares, *z, *z_squares, *z0, *z0_squares, *wide, *unused; /* a_squares follow y */
  dm_verified_found *found;
} checking;

static dm_status open_vectors(checking *c) {
  const int64_t m = c->rows, n = c->cols, k = c->depth, wide = c->width;
  const int64_t of_a = c->rows_of_a;
  double **const vectors[] = {&c->col_squares, &c->w,          &c->t,    &c->sizes,
                              &c->y,           &c->a_squares,  &c->z,    &c->z_squares,
                              &c->z0,          &c->z0_squares, &c->wide, &c->unused};
  const int64_t counts[] = {n + 1,       wide * n, wide * k,       k + 1,
                            wide * of_a, of_a + 1, wide * m,       m,
                            wide * m,    m,        wide * (n + k), wide * dm_max(m, of_a)};
  int64_t total = 0;
  for (int i = 0; i < 12; i++) total += counts[i];
  DM_TRY(dm_buffer_table(total, &c->memory));
  double *at = c->memory;
  for (int i = 0; i < 12; at += counts[i++]) *vectors[i] = at;
  return DM_OK;
}

enum { POLLS = 20 }; /* while the host waits for the device */

static dm_status sum(const checking *c, dm_status mine, double *values, int64_t count) {
  const dm_verified_ranks *ranks = c->product->ranks;
  for (int i = 0; ranks && i < POLLS; i++) ranks->advance(ranks->context);
  return ranks ? ranks->sum(ranks->context, mine, values, count, c->exact) : mine;
}

static void weigh(checking *c) {
  dm_columns_found *columns = &c->found->columns;
  for (int64_t j = 0; j < c->cols; j++) {
    const double square = c->col_squares[j] * (double)c->step, norm = sqrt(square);
    double w = dm_row_weight(c->product->seed, j);
    if (c->exact) {
      ((uint64_t *)c->w)[j] = dm_random_bits(c->product->seed, 0, j, 0) | 1u;
      continue;
    }
    columns->left_out += !isfinite(norm);
    columns->strained |=
        !isfinite(norm) || ((norm > 0.0 || c->step > 1) && square <= DM_LEAST_SQUARES);
    w = !isfinite(norm) ? 0.0 : square > DM_LEAST_SQUARES ? w / norm : w;
    c->w[j * c->width] = w;
    columns->squares += w * w;
    if (w != 0.0 && square > 0.0) columns->column = fmax(columns->column, 1.0 / fabs(w));
  }
}

/* squares[i] += sum_j |M(i,j) sizes[j]|^2. */
static dm_status add_sizes(const checking *c, dm_view m, const double *sizes, double *squares) {
  for (int64_t j = 0; j < m.cols; j++) c->wide[j * c->width] = sizes[j];
  return dm_host_probe(NULL, m, c->wide, c->unused, squares);
}

/* The rows of op(A) of each entry meet its op(B). */
static dm_status add_a(const checking *c) {
  const int64_t rows = c->rows / c->entries, depth = c->depth / c->entries;
  for (int64_t e = 0; e < c->entries; e++) {
    const dm_view a = dm_view_sub(c->a, e * rows, 0, rows, depth);
    const int64_t at = e * depth;
    DM_TRY(dm_host_probe(NULL, a, c->t + at * c->width, c->y + e * rows * c->width, NULL));
    if (!c->exact) DM_TRY(add_sizes(c, a, c->sizes + at, c->a_squares + e * rows));
  }
  return DM_OK;
}

/* The same of a part of op(A), summed over the ranks; the rows of C then are the first ones. */
static dm_status add_part_of_a(checking *c) {
  const dm_verified_ranks *ranks = c->product->ranks;
  const int64_t at = ranks->col_of_a, row = ranks->row_of_a, numbers = c->width * c->rows_of_a;
  dm_status status = dm_host_probe(NULL, c->a, c->t + at * c->width, c->y + row * c->width, NULL);
  if (!status && !c->exact) status = add_sizes(c, c->a, c->sizes + at, c->a_squares + row);
  DM_TRY(sum(c, status, c->y, numbers + (c->exact ? 0 : c->rows_of_a)));
  c->y += ranks->first * c->width;
  c->a_squares += ranks->first;
  return DM_OK;
}

static void take_roots(const checking *c) {
  const dm_whole_product *w = &c->product->whole;
  for (int64_t i = 0; i < c->depth && !c->exact; i++) {
    c->found->columns.spread += c->sizes[i];
    c->found->columns.strained |= !isfinite(c->sizes[i]);
    c->sizes[i] = fmax(sqrt(c->sizes[i]), 0x1p-1000);
    if (c->width == 2 && w->conjugate_a != w->conjugate_b) c->t[2 * i + 1] = -c->t[2 * i + 1];
  }
}

static dm_status add_operands(checking *c) {
  const dm_verified_ranks *ranks = c->product->ranks;
  const int64_t row = ranks ? ranks->row : 0, col = ranks ? ranks->col : 0;
  const dm_view sample = dm_sample(c->b, row, c->step);
  const dm_status scanned = c->exact ? DM_OK : dm_host_scan(NULL, sample, c->col_squares + col);
  if (ranks) (void)ranks->begin(ranks->context, !c->product->factors.reads_c);
  if (!c->exact) DM_TRY(sum(c, scanned, c->col_squares, c->cols));
  weigh(c);
  dm_status status = dm_host_probe(NULL, c->b, c->w + col * c->width, c->t + row * c->width,
                                   c->exact ? NULL : c->sizes + row);
  DM_TRY(sum(c, status, c->t, c->width * c->depth + (c->exact ? 0 : c->depth)));
  take_roots(c);
  DM_TRY(ranks && ranks->part ? add_part_of_a(c) : add_a(c));
  if (!c->product->factors.reads_c) return DM_OK;
  return dm_host_probe(NULL, c->c, c->w, c->z0, c->exact ? NULL : c->z0_squares);
}

static dm_status multiply(const checking *c, dm_backend *backend) {
  const dm_verified_ranks *ranks = c->product->ranks;
  dm_event done;
  if (ranks) return ranks->multiply(ranks->context);
  if (c->product->multiplied) return DM_OK;
  DM_TRY(dm_backend_multiply(backend, &c->product->whole, NULL, &done));
  return dm_backend_wait(backend, done);
}

static dm_rows_found compare_exactly(const checking *c, int64_t i) {
  const dm_row_factors *f = &c->product->factors;
  const uint64_t *y = (const uint64_t *)c->y, *z = (const uint64_t *)c->z;
  const uint64_t old = f->reads_c ? ((const uint64_t *)c->z0)[i] : 0;
  const uint64_t wanted =
      (uint64_t)(int64_t)f->alpha[0] * y[i] + (uint64_t)(int64_t)f->beta[0] * old;
  const double residual = z[i] == wanted ? 0.0 : (double)INFINITY;
  return (dm_rows_found){
      residual, residual, 0.0, z[i] == wanted ? -1 : i, 1, 0, {0.0, 0.0, 0.0, 0.0, 0.0}};
}

static dm_rows_found compare(const checking *c, int64_t i) {
  const dm_row_factors *f = &c->product->factors;
  const dm_columns_found *columns = &c->found->columns;
  dm_row_sums s = {
      .a_squares = c->a_squares[i], .z_squares = c->z_squares[i], .z0_squares = c->z0_squares[i]};
  for (int64_t x = 0; x < c->width; x++) {
    s.y[x] = c->y[i * c->width + x];
    s.z[x] = c->z[i * c->width + x];
    s.z0[x] = c->z0[i * c->width + x];
  }
  if (c->product->whole.conjugate_a) s.y[1] = -s.y[1];
  const dm_row_found row =
      dm_row_compare(f, &s, f->unit * sqrt(columns->squares), f->largest / columns->column, false);
  dm_rows_found found = {.residual = row.ratio,
                         .relative = row.relative,
                         .worst = row.checked && row.ratio > 0.0 ? i : -1,
                         .checked = row.checked,
                         .strained = row.strained};
  dm_row_bias_add(&found.bias, f, &s, false);
  return found;
}

static dm_status judge(const checking *c) {
  dm_rows_found *rows = &c->found->rows;
  double squares = 0.0;
  rows->worst = -1;
  DM_TRY(dm_host_probe(NULL, c->c, c->w, c->z, c->exact ? NULL : c->z_squares));
  for (int64_t i = 0; i < c->rows; i++) {
    const dm_rows_found one = c->exact ? compare_exactly(c, i) : compare(c, i);
    dm_rows_join(rows, &one);
  }
  DM_TRY(dm_host_dot(NULL, c->c, c->c, &squares));
  rows->squares = squares;
  return DM_OK;
}

static dm_status check(checking *c, dm_backend *backend) {
  DM_TRY(add_operands(c));
  DM_TRY(multiply(c, backend));
  return judge(c);
}

dm_status emulated_multiply_checked(dm_backend *backend, const dm_verified_product *product,
                                    dm_verified_found *found) {
  const dm_whole_product *w = &product->whole;
  checking c = {.product = product,
                .a = emulated_view(w->a),
                .b = emulated_view(w->b),
                .c = emulated_view(w->c),
                .rows = w->c.rows,
                .cols = w->c.cols,
                .depth = product->ranks ? product->ranks->depth : w->a.cols * dm_max(1, w->entries),
                .rows_of_a =
                    product->ranks && product->ranks->part ? product->ranks->rows : w->c.rows,
                .entries = dm_max(1, w->entries),
                .step = dm_max(1, product->step),
                .width = dm_dtype_is_complex(w->a.dtype) ? 2 : 1,
                .exact = dm_dtype_is_integer(w->a.dtype),
                .found = found};
  *found = (dm_verified_found){.rows = {.worst = -1}};
  dm_status status = open_vectors(&c);
  if (status && product->ranks)
    (void)product->ranks->begin(product->ranks->context, !product->factors.reads_c);
  if (status)
    status = sum(&c, status, NULL, c.exact ? c.width * c.depth : c.cols);
  else
    status = check(&c, backend);
  free(c.memory);
  return status;
}
