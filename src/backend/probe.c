/* probe: sums over a matrix in host memory, in the wide type, one run of columns at a time. */
#include "backend/probe.h"

#include <string.h>

#include "backend/probe_impl.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/element.h"
#include "core/elementary.h"
#include "core/wide_vectors.h"

enum { PROBE_RUN = 512, PROBE_LANES = 8 };

/* Independent partial sums in explicit vectors: the compiler reorders no sum, and multiplies
 * without branches. */
typedef double backend_probe_four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t probe_masks __attribute__((vector_size(4 * sizeof(int64_t))));
typedef struct probe_lanes {
  backend_probe_four low, high;
} probe_lanes;

DM_INLINE double sum_lanes(const probe_lanes *v) {
  return ((v->low[0] + v->low[1]) + (v->low[2] + v->low[3])) +
         ((v->high[0] + v->high[1]) + (v->high[2] + v->high[3]));
}

/* Targets of a run's sums; NORM and SQUARE may be NULL. */
typedef struct probe_target {
  double *y, *square, *norm;
} probe_target;

typedef struct partial {
  backend_probe_four sums, squares, norms;
} partial;

/* Adds COUNT elements; missing ones count as 0. NORMS and SIZES != NULL are constants in every
 * caller, so the compiler drops unused sums. */
DM_INLINE void probe_four(const double *m, const double *x, const double *sizes, size_t count,
                          bool norms, partial *to) {
  backend_probe_four mi = {0}, xi = {0}, size = {0};
  memcpy(&mi, m, count * sizeof *m);
  memcpy(&xi, x, count * sizeof *x);
  if (sizes) memcpy(&size, sizes, count * sizeof *sizes);
  /* 0 * NaN is not 0: columns with x = 0 are masked. */
  const backend_probe_four p = (backend_probe_four)((probe_masks)(mi * xi) & (xi != 0.0)),
                           r = sizes ? mi * size : mi;
  to->sums += p;
  to->squares += p * p;
  if (norms) to->norms += r * r;
}

DM_INLINE void probe_real_run(const double *m, const double *x, const double *sizes, int64_t count,
                              bool norms, probe_target to) {
  partial low = {0}, high = {0};
  int64_t i = 0;
  for (; i + PROBE_LANES <= count; i += PROBE_LANES) {
    probe_four(m + i, x + i, sizes ? sizes + i : NULL, 4, norms, &low);
    probe_four(m + i + 4, x + i + 4, sizes ? sizes + i + 4 : NULL, 4, norms, &high);
  }
  for (; i < count; i += 4)
    probe_four(m + i, x + i, sizes ? sizes + i : NULL, (size_t)dm_min(4, count - i), norms, &low);
  *to.y += sum_lanes(&(probe_lanes){low.sums, high.sums});
  if (to.square) *to.square += sum_lanes(&(probe_lanes){low.squares, high.squares});
  if (norms) *to.norm += sum_lanes(&(probe_lanes){low.norms, high.norms});
}

static void probe_complex_run(const double *m, const double *x, const double *sizes, int64_t count,
                              probe_target to) {
  double real = 0.0, imaginary = 0.0, squares = 0.0, raw = 0.0;
  for (int64_t i = 0; i < count; i++) {
    double a = m[2 * i], b = m[2 * i + 1], c = x[2 * i], d = x[2 * i + 1];
    const double size = sizes ? sizes[i] : 1.0;
    raw += a * size * (a * size) + b * size * (b * size);
    if (c == 0.0 && d == 0.0) continue;
    double re = a * c - b * d, im = a * d + b * c;
    real += re;
    imaginary += im;
    squares += re * re + im * im;
  }
  to.y[0] += real;
  to.y[1] += imaginary;
  if (to.square) *to.square += squares;
  if (to.norm) *to.norm += raw;
}

/* ---- sums of integers, modulo 2^64: exact comparisons need no bound ---- */

/* IS_BYTE, here and below, is a constant in every caller. */
DM_INLINE uint64_t probe_integer_at(const void *values, bool is_byte, int64_t i) {
  return (uint64_t)(is_byte ? ((const int8_t *)values)[i] : ((const int32_t *)values)[i]);
}

DM_INLINE void whole_rows(dm_view matrix, bool is_byte, const uint64_t *x, uint64_t *y) {
  for (int64_t i = 0; i < matrix.rows; i++) {
    const void *row = dm_view_at(matrix, i, 0);
    uint64_t sum = 0;
    for (int64_t j = 0; j < matrix.cols; j++) sum += probe_integer_at(row, is_byte, j) * x[j];
    y[i] += sum;
  }
}

/* Columns are contiguous; sums of PROBE_RUN rows at a time stay in the cache. */
DM_INLINE void whole_columns(dm_view matrix, bool is_byte, const uint64_t *x,
                             uint64_t *restrict y) {
  for (int64_t first = 0; first < matrix.rows; first += PROBE_RUN) {
    const int64_t count = dm_min(PROBE_RUN, matrix.rows - first);
    for (int64_t j = 0; j < matrix.cols; j++) {
      const void *column = dm_view_at(matrix, first, j);
      for (int64_t i = 0; i < count; i++)
        y[first + i] += probe_integer_at(column, is_byte, i) * x[j];
    }
  }
}

static void integers_scattered(dm_view matrix, bool is_byte, const uint64_t *x, uint64_t *y) {
  for (int64_t i = 0; i < matrix.rows; i++)
    for (int64_t j = 0; j < matrix.cols; j++)
      y[i] += probe_integer_at(dm_view_at(matrix, i, j), is_byte, 0) * x[j];
}

DM_INLINE void probe_integers_loop(dm_view matrix, const uint64_t *x, uint64_t *y) {
  const bool is_byte = matrix.dtype == DM_I8;
  if (matrix.col_stride == 1 && is_byte)
    whole_rows(matrix, true, x, y);
  else if (matrix.col_stride == 1)
    whole_rows(matrix, false, x, y);
  else if (matrix.row_stride == 1 && is_byte)
    whole_columns(matrix, true, x, y);
  else if (matrix.row_stride == 1)
    whole_columns(matrix, false, x, y);
  else
    integers_scattered(matrix, is_byte, x, y);
}

DM_BOTH_WIDTHS(probe_integers, (dm_view matrix, const uint64_t *x, uint64_t *y), (matrix, x, y))

dm_status dm_host_probe_integers(dm_view matrix, const uint64_t *x, uint64_t *y) {
  const bool real = matrix.dtype == DM_F64, down = matrix.row_stride == 1;
  const dm_view lines = down ? dm_view_transpose(matrix) : matrix;
  double largest = 0.0;
  for (int64_t i = 0; i < lines.rows; i++)
    for (int64_t j = 0; j < lines.cols; j++) {
      const void *at = dm_view_at(lines, i, j);
      const double value = real ? *(const double *)at : 0.0;
      largest = fmax(largest, fabs(value));
      const bool fits = fabs(value) < 0x1p53;
      const uint64_t whole =
          real ? (uint64_t)(int64_t)(fits ? value : 0.0) : (uint64_t) * (const int64_t *)at;
      y[down ? j : i] += whole * x[down ? i : j];
    }
  if (largest < 0x1p53) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_INPUT, "integers up to %.0f are multiplied exactly only below 2^53", largest),
      "--type f64 --allow-rounding rounds them");
}

/* ---- sums of floating-point numbers ---- */

/* As dm_load_wide, in wider vectors, for the types most frequent on CPUs. */
DM_INLINE void probe_widen_loop(double *to, const void *from, bool is_short, int64_t count) {
  const float *f32 = from;
  const uint16_t *bf16 = from;
  if (is_short)
    for (int64_t i = 0; i < count; i++) to[i] = (double)dm_bf16_to_f32(bf16[i]);
  else
    for (int64_t i = 0; i < count; i++) to[i] = (double)f32[i];
}

DM_BOTH_WIDTHS(probe_widen, (double *to, const void *from, bool is_short, int64_t count),
               (to, from, is_short, count))

/* A run of a row as f64: in place if it is f64, else in BUFFER. */
static const double *wide_run(dm_view matrix, int64_t row, int64_t col, int64_t count,
                              double *buffer) {
  const void *at = dm_view_at(matrix, row, col);
  bool wide = dm_dtype_real(matrix.dtype) == DM_F64 && matrix.col_stride == 1;
  if (wide) return at;
  const bool is_short = matrix.dtype == DM_BF16;
  if (matrix.col_stride == 1 && (is_short || dm_dtype_real(matrix.dtype) == DM_F32)) {
    const int64_t numbers = dm_dtype_is_complex(matrix.dtype) ? 2 * count : count;
    probe_widen(buffer, at, is_short, numbers);
    return buffer;
  }
  dm_load_wide(buffer, at, matrix.dtype, matrix.col_stride, count);
  return buffer;
}

DM_INLINE void probe_run_loop(const double *run, const double *x, const double *sizes,
                              int64_t count, probe_target to) {
  if (to.norm && sizes)
    probe_real_run(run, x, sizes, count, true, to);
  else if (to.norm)
    probe_real_run(run, x, NULL, count, true, to);
  else
    probe_real_run(run, x, NULL, count, false, to);
}

DM_BOTH_WIDTHS(probe_run,
               (const double *run, const double *x, const double *sizes, int64_t count,
                probe_target to),
               (run, x, sizes, count, to))

void dm_host_probe_groups(dm_view matrix, const dm_probe_groups *groups) {
  const dm_probe_groups *s = groups;
  if (dm_narrow_rows(matrix) && (s->first == 0 || s->first >= matrix.cols)) {
    dm_narrow_probe_rows(matrix, s);
    return;
  }
  const int parts = dm_dtype_is_complex(matrix.dtype) ? 2 : 1;
  void (*const probe)(const double *, const double *, const double *, int64_t, probe_target) =
      parts == 2 ? probe_complex_run : probe_run;
  double buffer[2 * PROBE_RUN];
  for (int64_t i = 0; i < matrix.rows; i++) {
    int64_t at = i, end = s->first > 0 ? s->first : matrix.cols; /* of the group of column j */
    for (int64_t j = 0, count; j < matrix.cols; j += count) {
      count = dm_min(PROBE_RUN, dm_min(end, matrix.cols) - j);
      probe(wide_run(matrix, i, j, count, buffer), s->x + j * parts, s->sizes ? s->sizes + j : NULL,
            count,
            (probe_target){s->y + at * parts, s->squares ? &s->squares[at] : NULL,
                           s->norms ? &s->norms[i] : NULL});
      if (j + count == end) at += s->step, end += s->each;
    }
  }
}

/* Rows at a time: each part of a vector is loaded once for all of them. */
enum { PROBE_TOGETHER = 4 };

/* Adds COUNT columns to FILLED rows' sums; FILLED is a constant in every caller. */
DM_INLINE void vector_four(const double *const *m, int64_t j, const double *x, const double *sizes,
                           size_t count, int filled, backend_probe_four *sums,
                           backend_probe_four *norms) {
  backend_probe_four xi = {0}, size = {0};
  memcpy(&xi, x + j, count * sizeof *x);
  memcpy(&size, sizes + j, count * sizeof *sizes);
  for (int i = 0; i < filled; i++) {
    backend_probe_four mi = {0};
    memcpy(&mi, m[i] + j, count * sizeof **m);
    const backend_probe_four r = mi * size;
    sums[i] += mi * xi;
    norms[i] += r * r;
  }
}

DM_INLINE double sum_four(const backend_probe_four *v) {
  return ((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3]);
}

DM_INLINE void vector_rows(const double *const *m, int filled, int64_t count, const double *x,
                           const double *sizes, double *y, double *squares) {
  backend_probe_four sums[PROBE_TOGETHER] = {0}, norms[PROBE_TOGETHER] = {0};
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) vector_four(m, j, x, sizes, 4, filled, sums, norms);
  if (j < count) vector_four(m, j, x, sizes, (size_t)(count - j), filled, sums, norms);
  for (int i = 0; i < filled; i++) {
    y[i] += sum_four(&sums[i]);
    squares[i] += sum_four(&norms[i]);
  }
}

/* COUNT columns from FIRST on of FILLED rows from ROW on. */
DM_INLINE void probe_vectors_loop(const double *const *m, int filled, int64_t row, int64_t first,
                                  int64_t count, const dm_probe_vectors *v) {
  for (int g = 0; g < v->count; g++) {
    const double *x = v->x + g * v->x_step + first, *sizes = v->sizes + g * v->x_step + first;
    double *y = v->y + g * v->y_step + row, *norms = v->norms + g * v->y_step + row;
    if (filled == PROBE_TOGETHER)
      vector_rows(m, PROBE_TOGETHER, count, x, sizes, y, norms);
    else
      for (int i = 0; i < filled; i++) vector_rows(m + i, 1, count, x, sizes, y + i, norms + i);
  }
}

DM_BOTH_WIDTHS(probe_vectors,
               (const double *const *m, int filled, int64_t row, int64_t first, int64_t count,
                const dm_probe_vectors *v),
               (m, filled, row, first, count, v))

void dm_host_probe_vectors(dm_view matrix, const dm_probe_vectors *vectors) {
  if (dm_narrow_columns(matrix)) {
    dm_narrow_probe_columns(matrix, vectors);
    return;
  }
  if (dm_narrow_rows(matrix)) {
    dm_narrow_probe_row_vectors(matrix, vectors);
    return;
  }
  if (dm_long_columns(matrix)) {
    dm_probe_long_columns(matrix, vectors);
    return;
  }
  double buffers[PROBE_TOGETHER][PROBE_RUN];
  const double *rows[PROBE_TOGETHER];
  for (int64_t i = 0; i < matrix.rows; i += PROBE_TOGETHER) {
    const int filled = (int)dm_min(PROBE_TOGETHER, matrix.rows - i);
    for (int64_t j = 0; j < matrix.cols; j += PROBE_RUN) {
      const int64_t count = dm_min(PROBE_RUN, matrix.cols - j);
      for (int r = 0; r < filled; r++) rows[r] = wide_run(matrix, i + r, j, count, buffers[r]);
      probe_vectors(rows, filled, i, j, count, vectors);
    }
  }
}

dm_status dm_host_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares) {
  (void)backend;
  if (dm_dtype_is_integer(matrix.dtype))
    probe_integers(matrix, x, y);
  else
    dm_host_probe_groups(matrix, &(dm_probe_groups){.x = x, .y = y, .squares = squares});
  return DM_OK;
}

/* Four rows at a time, so that sums are loaded and stored once for all four; long runs, which are
 * read sooner. */
enum { SCANNED = 4, LONG_RUN = 1024 };

DM_INLINE void probe_add_squares(const backend_probe_four *x, backend_probe_four *to) {
  const backend_probe_four sum = *to + *x * *x;
  const probe_masks vanishes = (sum < DM_VANISHING) & (*x != 0.0);
  const backend_probe_four least = {DM_VANISHING, DM_VANISHING, DM_VANISHING, DM_VANISHING};
  *to = (backend_probe_four)(((probe_masks)sum & ~vanishes) | ((probe_masks)least & vanishes));
}

/* Adds four elements of all SCANNED rows of real numbers, if no sum is near to vanishing. */
DM_INLINE bool scan_plain(const double *const *rows, int64_t at, backend_probe_four *sums) {
  backend_probe_four sum = *sums, x;
  for (int i = 0; i < SCANNED; i++) {
    memcpy(&x, rows[i] + at, sizeof x);
    sum += x * x;
  }
  const probe_masks low = sum < DM_VANISHING;
  if ((low[0] | low[1]) | (low[2] | low[3])) return false;
  *sums = sum;
  return true;
}

/* Adds FILLED rows to COUNT sums; STEP is 1, or 2 for complex elements, whose two numbers go to one
 * sum. */
DM_INLINE void scan_four(const double *const *rows, int64_t at, int64_t step, size_t count,
                         int filled, double *sums) {
  backend_probe_four sum = {0};
  memcpy(&sum, sums, count * sizeof *sums);
  const bool plain = step == 1 && count == 4 && filled == SCANNED && scan_plain(rows, at, &sum);
  for (int i = 0; i < filled && !plain; i++) {
    backend_probe_four x = {0};
    if (step == 1)
      memcpy(&x, rows[i] + at, count * sizeof *sums);
    else
      for (size_t t = 0; t < count; t++) x[t] = rows[i][at + step * (int64_t)t];
    probe_add_squares(&x, &sum);
    if (step == 1) continue;
    for (size_t t = 0; t < count; t++) x[t] = rows[i][at + step * (int64_t)t + 1];
    probe_add_squares(&x, &sum);
  }
  memcpy(sums, &sum, count * sizeof *sums);
}

DM_INLINE void probe_scan_rows(const double *const *rows, int filled, int64_t step, int64_t count,
                               double *sums) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) scan_four(rows, step * j, step, 4, filled, sums + j);
  if (j < count) scan_four(rows, step * j, step, (size_t)(count - j), filled, sums + j);
}

/* Constants let the compiler specialize each loop. */
DM_INLINE void scan_run_loop(const double *const *rows, int filled, int parts, int64_t count,
                             double *sums) {
  if (parts == 2)
    probe_scan_rows(rows, filled, 2, count, sums);
  else if (filled == SCANNED)
    probe_scan_rows(rows, SCANNED, 1, count, sums);
  else
    probe_scan_rows(rows, filled, 1, count, sums);
}

DM_BOTH_WIDTHS(scan_run,
               (const double *const *rows, int filled, int parts, int64_t count, double *sums),
               (rows, filled, parts, count, sums))

/* Adds what several rows side by side sum up to to the sums of their columns; returns the rows that
 * remain. */
static dm_view scan_folded(dm_view matrix, double *col_squares) {
  const dm_view folded = dm_narrow_folded(matrix);
  const int64_t rows = folded.rows * (folded.cols / matrix.cols);
  double sums[PROBE_RUN] = {0.0};
  dm_status_free(dm_host_scan(NULL, folded, sums)); /* cannot fail */
  for (int64_t j = 0; j < folded.cols; j++) col_squares[j % matrix.cols] += sums[j];
  return dm_view_sub(matrix, rows, 0, matrix.rows - rows, matrix.cols);
}

dm_status dm_host_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  (void)backend;
  if (dm_narrow_rows(matrix) && dm_narrow_folded(matrix).rows > 1)
    matrix = scan_folded(matrix, col_squares);
  const int parts = dm_dtype_is_complex(matrix.dtype) ? 2 : 1;
  double buffers[SCANNED][2 * LONG_RUN];
  const double *rows[SCANNED];
  for (int64_t i = 0; i < matrix.rows; i += SCANNED) {
    const int filled = (int)dm_min(SCANNED, matrix.rows - i);
    for (int64_t j = 0; j < matrix.cols; j += LONG_RUN) {
      const int64_t count = dm_min(LONG_RUN, matrix.cols - j);
      for (int r = 0; r < filled; r++) rows[r] = wide_run(matrix, i + r, j, count, buffers[r]);
      scan_run(rows, filled, parts, count, col_squares + j);
    }
  }
  return DM_OK;
}

dm_status dm_host_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                       int64_t row, int64_t col) {
  (void)backend;
  dm_fill(view, generator, row, col);
  return DM_OK;
}

/* ---- sums of two matrices, and dot products, a run of a row at a time, in f64 ---- */

/* An operand with factor 0 is not read. */
static void probe_add_run(dm_view z, dm_view x, dm_view y, double alpha, double beta, int64_t row,
                          int64_t col, int64_t count) {
  double sums[PROBE_RUN] = {0.0}, buffer[PROBE_RUN];
  if (alpha != 0.0) {
    const double *values = wide_run(x, row, col, count, buffer);
    for (int64_t i = 0; i < count; i++) sums[i] = alpha * values[i];
  }
  if (beta != 0.0) {
    const double *values = wide_run(y, row, col, count, buffer);
    if (alpha != 0.0)
      for (int64_t i = 0; i < count; i++) sums[i] += beta * values[i];
    else
      for (int64_t i = 0; i < count; i++) sums[i] = beta * values[i];
  }
  dm_store_wide(dm_view_at(z, row, col), z.dtype, 1, sums, count);
}

static void probe_add_integers(dm_view z, dm_view x, dm_view y, uint32_t alpha, uint32_t beta) {
  for (int64_t i = 0; i < z.rows; i++) {
    uint32_t *to = dm_view_at(z, i, 0);
    const uint32_t *from = dm_view_at(x, i, 0), *other = dm_view_at(y, i, 0);
    for (int64_t j = 0; j < z.cols; j++) to[j] = alpha * from[j] + beta * other[j];
  }
}

dm_status dm_host_add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                      double beta) {
  (void)backend;
  if (z.dtype == DM_I32) {
    probe_add_integers(z, x, y, (uint32_t)(int64_t)alpha, (uint32_t)(int64_t)beta);
    return DM_OK;
  }
  z = dm_view_parts(z), x = dm_view_parts(x), y = dm_view_parts(y);
  for (int64_t i = 0; i < z.rows; i++)
    for (int64_t j = 0; j < z.cols; j += PROBE_RUN)
      probe_add_run(z, x, y, alpha, beta, i, j, dm_min(PROBE_RUN, z.cols - j));
  return DM_OK;
}

/* Separate lanes let the compiler vectorize; the order of sums stays fixed. */
static void dot_run(double parts[PROBE_LANES], const double *x, const double *y, int64_t count) {
  int64_t i = 0;
  for (; i + PROBE_LANES <= count; i += PROBE_LANES)
    for (int lane = 0; lane < PROBE_LANES; lane++) parts[lane] += x[i + lane] * y[i + lane];
  for (int lane = 0; i < count; i++, lane++) parts[lane] += x[i] * y[i];
}

dm_status dm_host_dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  (void)backend;
  double buffer[2][PROBE_RUN];
  if (x.col_stride != 1 &&
      y.col_stride != 1) /* columns are contiguous: the order does not matter */
    x = dm_view_transpose(x), y = dm_view_transpose(y);
  x = dm_view_parts(x), y = dm_view_parts(y);
  *sum = 0.0;
  for (int64_t i = 0; i < x.rows; i++) {
    double parts[PROBE_LANES] = {0.0};
    for (int64_t j = 0; j < x.cols; j += PROBE_RUN) {
      const int64_t count = dm_min(PROBE_RUN, x.cols - j);
      dot_run(parts, wide_run(x, i, j, count, buffer[0]), wide_run(y, i, j, count, buffer[1]),
              count);
    }
    for (int lane = 0; lane < PROBE_LANES; lane++) *sum += parts[lane];
  }
  return DM_OK;
}
