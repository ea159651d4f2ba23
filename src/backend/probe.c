/* probe: sums over a matrix in host memory, in the wide type, one run of columns at a time. */
#include <string.h>

#include "backend/probe.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/fill.h"
#include "core/wide_vectors.h"

enum { RUN = 512, LANES = 8 };

/* Independent partial sums, as vectors of the compiler's: it reorders no sum behind our back, and
 * multiplies without branches. */
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(4 * sizeof(int64_t))));
typedef struct lanes {
  four low, high;
} lanes;

DM_INLINE double sum_lanes(const lanes *v) {
  return ((v->low[0] + v->low[1]) + (v->low[2] + v->low[3])) +
         ((v->high[0] + v->high[1]) + (v->high[2] + v->high[3]));
}

/* What a run of a row adds to; of NORM and SQUARE either may be NULL. */
typedef struct target {
  double *y, *square, *norm;
} target;

typedef struct partial {
  four sums, squares, norms;
} partial;

/* COUNT elements, of which those that are missing count as 0.  NORMS, and whether there are SIZES,
 * is known where this is called: then the compiler leaves out what is not asked for. */
DM_INLINE void probe_four(const double *m, const double *x, const double *sizes, size_t count,
                          bool norms, partial *to) {
  four mi = {0}, xi = {0}, size = {0};
  memcpy(&mi, m, count * sizeof *m);
  memcpy(&xi, x, count * sizeof *x);
  if (sizes) memcpy(&size, sizes, count * sizeof *sizes);
  /* 0 * NaN is not 0: a column that is left out must not be seen. */
  const four p = (four)((masks)(mi * xi) & (xi != 0.0)), r = sizes ? mi * size : mi;
  to->sums += p;
  to->squares += p * p;
  if (norms) to->norms += r * r;
}

DM_INLINE void probe_real_run(const double *m, const double *x, const double *sizes, int64_t count,
                              bool norms, target to) {
  partial low = {0}, high = {0};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    probe_four(m + i, x + i, sizes ? sizes + i : NULL, 4, norms, &low);
    probe_four(m + i + 4, x + i + 4, sizes ? sizes + i + 4 : NULL, 4, norms, &high);
  }
  for (; i < count; i += 4)
    probe_four(m + i, x + i, sizes ? sizes + i : NULL, (size_t)dm_min(4, count - i), norms, &low);
  *to.y += sum_lanes(&(lanes){low.sums, high.sums});
  if (to.square) *to.square += sum_lanes(&(lanes){low.squares, high.squares});
  if (norms) *to.norm += sum_lanes(&(lanes){low.norms, high.norms});
}

static void probe_complex_run(const double *m, const double *x, const double *sizes, int64_t count,
                              target to) {
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

/* Sums of whole numbers, modulo 2^64: exact comparisons need no bound. */
static uint64_t probe_integer_row(dm_view matrix, int64_t row, const uint64_t *x) {
  uint64_t sum = 0;
  for (int64_t j = 0; j < matrix.cols; j++) {
    const void *at = dm_view_at(matrix, row, j);
    int64_t value = matrix.dtype == DM_I8 ? *(const int8_t *)at : *(const int32_t *)at;
    sum += (uint64_t)value * x[j];
  }
  return sum;
}

/* A run of a row as f64: the elements themselves where they are that already. */
static const double *wide_run(dm_view matrix, int64_t row, int64_t col, int64_t count,
                              double *buffer) {
  const void *at = dm_view_at(matrix, row, col);
  bool wide = dm_dtype_real(matrix.dtype) == DM_F64 && matrix.col_stride == 1;
  if (wide) return at;
  dm_load_wide(buffer, at, matrix.dtype, matrix.col_stride, count);
  return buffer;
}

DM_INLINE void probe_run(const double *run, const double *x, const double *sizes, int64_t count,
                         target to) {
  if (to.norm && sizes)
    probe_real_run(run, x, sizes, count, true, to);
  else if (to.norm)
    probe_real_run(run, x, NULL, count, true, to);
  else
    probe_real_run(run, x, NULL, count, false, to);
}

static void probe_plain(const double *run, const double *x, const double *sizes, int64_t count,
                        target to) {
  probe_run(run, x, sizes, count, to);
}

DM_WIDE_VECTORS static void probe_wide(const double *run, const double *x, const double *sizes,
                                       int64_t count, target to) {
  probe_run(run, x, sizes, count, to);
}

void dm_host_probe_norms(dm_view matrix, const double *x, double *y, double *squares,
                         const double *sizes, double *norms) {
  const int parts = dm_dtype_is_complex(matrix.dtype) ? 2 : 1;
  void (*const probe)(const double *, const double *, const double *, int64_t, target) =
      parts == 2              ? probe_complex_run
      : dm_has_wide_vectors() ? probe_wide
                              : probe_plain;
  double buffer[2 * RUN];
  for (int64_t i = 0; i < matrix.rows; i++) {
    const target to = {y + i * parts, squares ? &squares[i] : NULL, norms ? &norms[i] : NULL};
    for (int64_t j = 0; j < matrix.cols; j += RUN) {
      const int64_t count = dm_min(RUN, matrix.cols - j);
      probe(wide_run(matrix, i, j, count, buffer), x + j * parts, sizes ? sizes + j : NULL, count,
            to);
    }
  }
}

dm_status dm_host_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                        double *squares) {
  (void)backend;
  if (dm_dtype_is_integer(matrix.dtype))
    for (int64_t i = 0; i < matrix.rows; i++) ((uint64_t *)y)[i] += probe_integer_row(matrix, i, x);
  else
    dm_host_probe_norms(matrix, x, y, squares, NULL, NULL);
  return DM_OK;
}

static inline double add_square(double x, double sum) {
  sum += x * x;
  return sum < DM_VANISHING && x != 0.0 ? DM_VANISHING : sum;
}

dm_status dm_host_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  (void)backend;
  const int parts = dm_dtype_is_complex(matrix.dtype) ? 2 : 1;
  double buffer[2 * RUN];
  for (int64_t i = 0; i < matrix.rows; i++) {
    for (int64_t j = 0; j < matrix.cols; j += RUN) {
      int64_t count = dm_min(RUN, matrix.cols - j);
      const double *run = wide_run(matrix, i, j, count, buffer);
      if (parts == 2)
        for (int64_t t = 0; t < count; t++)
          col_squares[j + t] =
              add_square(run[2 * t + 1], add_square(run[2 * t], col_squares[j + t]));
      else
        for (int64_t t = 0; t < count; t++)
          col_squares[j + t] = add_square(run[t], col_squares[j + t]);
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
