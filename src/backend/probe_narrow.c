/* Lines of few elements, packed one after the other, as tall matrices of few columns have: the sums
 * of many lines in one loop, which need not look up each line. */
#include <string.h>

#include "backend/probe_impl.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/wide_vectors.h"

enum { BLOCK = 512 /* elements converted at a time */, FOUR = 4 };

typedef double four __attribute__((vector_size(FOUR * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(FOUR * sizeof(int64_t))));

bool dm_narrow_rows(dm_view matrix) {
  return !dm_dtype_is_complex(matrix.dtype) && !dm_dtype_is_integer(matrix.dtype) &&
         matrix.cols <= DM_NARROW && matrix.col_stride == 1 && matrix.row_stride == matrix.cols &&
         matrix.rows > 1;
}

bool dm_narrow_columns(dm_view matrix) {
  return matrix.rows > 1 && dm_narrow_rows(dm_view_transpose(matrix));
}

/* COUNT packed elements as f64: in place if they are, else in BUFFER. */
DM_INLINE const double *packed_loop(double *buffer, const void *from, dm_dtype dtype,
                                    int64_t count) {
  const float *f32 = from;
  if (dtype == DM_F64) return from;
  if (dtype != DM_F32) {
    dm_load_wide(buffer, from, dtype, 1, count);
    return buffer;
  }
  for (int64_t i = 0; i < count; i++) buffer[i] = (double)f32[i];
  return buffer;
}

DM_INLINE double sum_of(const four *v) {
  return ((*v)[0] + (*v)[1]) + ((*v)[2] + (*v)[3]);
}

/* COUNT elements, of which four are taken; missing ones are 0. */
DM_INLINE void take_four(const double *from, int64_t count, four *to) {
  *to = (four){0};
  memcpy(to, from, (size_t)dm_min(FOUR, count) * sizeof *from);
}

/* ---- sums of rows ---- */

/* One row; COLS and what is NULL in G are constants in the callers that matter. */
DM_INLINE void take_row(const double *row, int64_t cols, const double *x, int64_t i,
                        const dm_probe_groups *g) {
  four sums = {0}, squares = {0}, norms = {0};
  for (int64_t j = 0; j < cols; j += FOUR) {
    four m, xj;
    take_four(row + j, cols - j, &m);
    take_four(x + j, cols - j, &xj);
    const four p = (four)((masks)(m * xj) & (xj != 0.0)); /* a column with factor 0 may be NaN */
    sums += p;
    squares += p * p;
    norms += m * m;
  }
  g->y[i] += sum_of(&sums);
  if (g->squares) g->squares[i] += sum_of(&squares);
  if (g->norms) g->norms[i] += sum_of(&norms);
}

DM_INLINE void take_rows_loop(dm_view matrix, const dm_probe_groups *g) {
  const int64_t cols = matrix.cols, each = BLOCK / cols;
  double buffer[BLOCK];
  for (int64_t row = 0; row < matrix.rows; row += each) {
    const int64_t rows = dm_min(each, matrix.rows - row);
    const double *block =
        packed_loop(buffer, (const char *)matrix.base + row * cols * dm_dtype_size(matrix.dtype),
                    matrix.dtype, rows * cols);
    if (cols == FOUR)
      for (int64_t i = 0; i < rows; i++) take_row(block + i * FOUR, FOUR, g->x, row + i, g);
    else
      for (int64_t i = 0; i < rows; i++) take_row(block + i * cols, cols, g->x, row + i, g);
  }
}

DM_BOTH_WIDTHS(take_rows, (dm_view matrix, const dm_probe_groups *g), (matrix, g))

void dm_narrow_probe_rows(dm_view matrix, const dm_probe_groups *groups) {
  take_rows(matrix, groups);
}

/* ---- sums over columns ---- */

/* COUNT columns of ROWS elements: sums of this block alone, so that the sums of millions of columns
 * lose no more digits than those of long rows. */
DM_INLINE void take_columns(const double *block, int64_t rows, int64_t count, const double *x,
                            const double *sizes, double *y, double *norms) {
  for (int64_t i = 0; i < rows; i += FOUR) {
    four sum = {0}, norm = {0};
    const int64_t left = rows - i;
    for (int64_t l = 0; l < count; l++) {
      four m;
      take_four(block + l * rows + i, left, &m);
      const four r = m * sizes[l];
      sum += m * x[l];
      norm += r * r;
    }
    for (int64_t t = 0; t < dm_min(FOUR, left); t++) {
      y[i + t] += sum[t];
      norms[i + t] += norm[t];
    }
  }
}

DM_INLINE void take_vectors_loop(dm_view matrix, const dm_probe_vectors *v) {
  const int64_t rows = matrix.rows, each = BLOCK / rows;
  double buffer[BLOCK];
  for (int64_t col = 0; col < matrix.cols; col += each) {
    const int64_t cols = dm_min(each, matrix.cols - col);
    const double *block =
        packed_loop(buffer, (const char *)matrix.base + col * rows * dm_dtype_size(matrix.dtype),
                    matrix.dtype, cols * rows);
    for (int g = 0; g < v->count; g++) {
      const double *x = v->x + g * v->x_step + col, *sizes = v->sizes + g * v->x_step + col;
      double *y = v->y + g * v->y_step, *norms = v->norms + g * v->y_step;
      if (rows == FOUR)
        take_columns(block, FOUR, cols, x, sizes, y, norms);
      else
        take_columns(block, rows, cols, x, sizes, y, norms);
    }
  }
}

DM_BOTH_WIDTHS(take_vectors, (dm_view matrix, const dm_probe_vectors *v), (matrix, v))

void dm_narrow_probe_columns(dm_view matrix, const dm_probe_vectors *vectors) {
  take_vectors(matrix, vectors);
}

/* ---- squares of columns ---- */

dm_view dm_narrow_folded(dm_view matrix) {
  const int64_t each = BLOCK / matrix.cols;
  return dm_view_strided(matrix.base, matrix.dtype, matrix.space, matrix.rows / each,
                         each * matrix.cols, each * matrix.cols);
}
