/* Lines of few elements, packed one after the other, as tall matrices of few columns have: the sums
 * of many lines in one loop, which need not look up each line. And columns that are contiguous. */
#include <string.h>

#include "backend/probe_impl.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/wide_vectors.h"

enum { PROBE_BLOCK = 512 /* elements converted at a time */, FOUR = 4 };

typedef double probe_narrow_four __attribute__((vector_size(FOUR * sizeof(double))));
typedef int64_t probe_narrow_masks __attribute__((vector_size(FOUR * sizeof(int64_t))));

/* Four elements of two vectors, which are numbered one after the other. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (probe_narrow_masks){__VA_ARGS__})
#endif

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

/* COUNT elements, of which four are taken; missing ones are 0. */
DM_INLINE void take_four(const double *from, int64_t count, probe_narrow_four *to) {
  *to = (probe_narrow_four){0};
  memcpy(to, from, (size_t)dm_min(FOUR, count) * sizeof *from);
}

/* The same where there is memory for four: what follows COUNT elements, of other lines, is dropped.
 * A length that is known takes one instruction. */
DM_INLINE void take_first(const double *from, int64_t count, probe_narrow_four *to) {
  const probe_narrow_masks place = {0, 1, 2, 3};
  memcpy(to, from, sizeof *to);
  if (count < FOUR) *to = (probe_narrow_four)((probe_narrow_masks)*to & (place < count));
}

/* ---- sums of rows ---- */

/* The sums (0 + 1) + (2 + 3) of the elements of four vectors. */
DM_INLINE void sums_of_four(const probe_narrow_four v[FOUR], probe_narrow_four *to) {
  const probe_narrow_four low = SHUFFLE(v[0], v[1], 0, 4, 2, 6) + SHUFFLE(v[0], v[1], 1, 5, 3, 7);
  const probe_narrow_four high = SHUFFLE(v[2], v[3], 0, 4, 2, 6) + SHUFFLE(v[2], v[3], 1, 5, 3, 7);
  *to = SHUFFLE(low, high, 0, 1, 4, 5) + SHUFFLE(low, high, 2, 3, 6, 7);
}

/* Adds COUNT elements. */
DM_INLINE void probe_add_four(const probe_narrow_four *v, int64_t count, double *to) {
  probe_narrow_four all;
  if (count >= FOUR) {
    memcpy(&all, to, sizeof all);
    all += *v;
    memcpy(to, &all, sizeof all);
    return;
  }
  for (int64_t i = 0; i < count; i++) to[i] += (*v)[i];
}

/* Adds the sums of COUNT of four vectors. */
DM_INLINE void probe_add_sums(const probe_narrow_four v[FOUR], int64_t count, double *to) {
  probe_narrow_four sums;
  sums_of_four(v, &sums);
  probe_add_four(&sums, count, to);
}

/* COUNT rows from row I on, at most four; COLS, COUNT, ENDS, SKIPS and what is NULL in G are
 * constants in the callers that matter; four numbers can be read from any of G's. ENDS: nothing
 * follows the rows in memory. SKIPS: a column with factor 0 may be NaN. */
DM_INLINE void take_rows_of(const double *block, int64_t cols, int64_t count, int64_t i,
                            const dm_probe_groups *g, bool ends, bool skips) {
  probe_narrow_four sums[FOUR] = {{0}}, squares[FOUR] = {{0}}, norms[FOUR] = {{0}};
  for (int64_t j = 0; j < cols; j += FOUR) {
    probe_narrow_four xj, size = {0};
    memcpy(&xj, g->x + j, sizeof xj);
    if (g->sizes) memcpy(&size, g->sizes + j, sizeof size);
    for (int64_t r = 0; r < count; r++) {
      probe_narrow_four m;
      if (ends)
        take_four(block + r * cols + j, cols - j, &m);
      else
        take_first(block + r * cols + j, cols - j, &m);
      const probe_narrow_four all = m * xj,
                              p = skips ? (probe_narrow_four)((probe_narrow_masks)all & (xj != 0.0))
                                        : all;
      const probe_narrow_four n = g->sizes ? m * size : m;
      sums[r] += p;
      if (g->squares) squares[r] += p * p;
      if (g->norms) norms[r] += n * n;
    }
  }
  probe_add_sums(sums, count, g->y + i);
  if (g->squares) probe_add_sums(squares, count, g->squares + i);
  if (g->norms) probe_add_sums(norms, count, g->norms + i);
}

/* The same of one column. */
DM_INLINE void take_column_of(const double *block, int64_t count, int64_t i,
                              const dm_probe_groups *g, bool skips) {
  probe_narrow_four m, p = {0};
  take_four(block, count, &m);
  if (!skips || g->x[0] != 0.0) p = m * g->x[0];
  const probe_narrow_four n = g->sizes ? m * g->sizes[0] : m, squares = p * p, norms = n * n;
  probe_add_four(&p, count, g->y + i);
  if (g->squares) probe_add_four(&squares, count, g->squares + i);
  if (g->norms) probe_add_four(&norms, count, g->norms + i);
}

/* All PROBE_ROWS of a block. */
DM_INLINE void probe_take_block(const double *block, int64_t cols, int64_t rows, int64_t row,
                                const dm_probe_groups *g, bool ends, bool skips) {
  int64_t i = 0;
  for (; i < rows && cols == 1; i += FOUR)
    take_column_of(block + i, dm_min(FOUR, rows - i), row + i, g, skips);
  for (; i + FOUR <= rows - ends; i += FOUR)
    take_rows_of(block + i * cols, cols, FOUR, row + i, g, false, skips);
  for (; i < rows - ends; i++) take_rows_of(block + i * cols, cols, 1, row + i, g, false, skips);
  if (i < rows) take_rows_of(block + i * cols, cols, 1, row + i, g, true, skips);
}

/* The numbers of columns for which the compiler makes loops of their own. */
DM_INLINE void take_block_of(const double *block, int64_t cols, int64_t rows, int64_t row,
                             const dm_probe_groups *g, bool ends, bool skips) {
  switch (cols) {
  case 1:
    probe_take_block(block, 1, rows, row, g, ends, skips);
    break;
  case 2:
    probe_take_block(block, 2, rows, row, g, ends, skips);
    break;
  case 3:
    probe_take_block(block, 3, rows, row, g, ends, skips);
    break;
  case 4:
    probe_take_block(block, 4, rows, row, g, ends, skips);
    break;
  default:
    probe_take_block(block, cols, rows, row, g, ends, skips);
  }
}

/* Numbers of columns, and 0 beyond. */
typedef struct probe_padded {
  double x[DM_NARROW + FOUR], sizes[DM_NARROW + FOUR];
} probe_padded;

static dm_probe_groups padded_of(const dm_probe_groups *g, int64_t cols, probe_padded *room) {
  dm_probe_groups of = *g;
  *room = (probe_padded){.x = {0.0}};
  memcpy(room->x, g->x, (size_t)cols * sizeof *g->x);
  of.x = room->x;
  if (!g->sizes) return of;
  memcpy(room->sizes, g->sizes, (size_t)cols * sizeof *g->sizes);
  of.sizes = room->sizes;
  return of;
}

/* The sums of all COUNT elements of G. */
DM_INLINE void probe_take_rows_loop(dm_view matrix, const dm_probe_groups *g, int count,
                                    bool skips) {
  const int64_t cols = matrix.cols, each = PROBE_BLOCK / cols;
  double buffer[PROBE_BLOCK + FOUR];
  probe_padded rooms[DM_PROBE_VECTORS];
  dm_probe_groups of[DM_PROBE_VECTORS];
  for (int i = 0; i < count; i++) of[i] = padded_of(&g[i], cols, &rooms[i]);
  for (int64_t row = 0; row < matrix.rows; row += each) {
    const int64_t rows = dm_min(each, matrix.rows - row);
    const double *block =
        packed_loop(buffer, (const char *)matrix.base + row * cols * dm_dtype_size(matrix.dtype),
                    matrix.dtype, rows * cols);
    const bool ends = block != buffer && row + rows == matrix.rows;
    for (int i = 0; i < count; i++)
      if (skips)
        take_block_of(block, cols, rows, row, &of[i], ends, true);
      else
        take_block_of(block, cols, rows, row, &of[i], ends, false);
  }
}

DM_BOTH_WIDTHS(probe_take_rows, (dm_view matrix, const dm_probe_groups *g, int count, bool skips),
               (matrix, g, count, skips))

void dm_narrow_probe_rows(dm_view matrix, const dm_probe_groups *groups) {
  probe_take_rows(matrix, groups, 1, true);
}

void dm_narrow_probe_row_vectors(dm_view matrix, const dm_probe_vectors *v) {
  dm_probe_groups of[DM_PROBE_VECTORS];
  for (int i = 0; i < v->count; i++)
    of[i] = (dm_probe_groups){.x = v->x + i * v->x_step,
                              .sizes = v->sizes + i * v->x_step,
                              .y = v->y + i * v->y_step,
                              .norms = v->norms + i * v->y_step};
  probe_take_rows(matrix, of, v->count, false);
}

/* ---- sums over columns ---- */

/* Four elements of a column. */
DM_INLINE void take_column(probe_narrow_four m, double x, double size, probe_narrow_four *sum,
                           probe_narrow_four *norm) {
  const probe_narrow_four r = m * size;
  *sum += m * x;
  *norm += r * r;
}

/* The first WHOLE of COUNT columns of PROBE_ROWS elements, behind which there is memory; behind the
 * others there is none. Sums of this block alone, so that the sums of millions of columns lose no
 * more digits than those of long rows. */
DM_INLINE void probe_take_columns(const double *block, int64_t rows, int64_t whole, int64_t count,
                                  const double *x, const double *sizes, double *y, double *norms) {
  for (int64_t i = 0; i < rows; i += FOUR) {
    probe_narrow_four m, sum = {0}, norm = {0}, more = {0},
                         more_norm = {0}; /* neighbours need not wait */
    int64_t l = 0;
    for (; l + 2 <= whole; l += 2) {
      memcpy(&m, block + l * rows + i, sizeof m);
      take_column(m, x[l], sizes[l], &sum, &norm);
      memcpy(&m, block + (l + 1) * rows + i, sizeof m);
      take_column(m, x[l + 1], sizes[l + 1], &more, &more_norm);
    }
    for (; l < count; l++) {
      take_four(block + l * rows + i, rows - i, &m);
      take_column(m, x[l], sizes[l], &sum, &norm);
    }
    sum += more;
    norm += more_norm;
    probe_add_four(&sum, rows - i, y + i);
    probe_add_four(&norm, rows - i, norms + i);
  }
}

DM_INLINE void probe_take_vectors_loop(dm_view matrix, const dm_probe_vectors *v) {
  const int64_t rows = matrix.rows, each = PROBE_BLOCK / rows;
  double buffer[PROBE_BLOCK + FOUR];
  for (int64_t col = 0; col < matrix.cols; col += each) {
    const int64_t cols = dm_min(each, matrix.cols - col);
    const double *block =
        packed_loop(buffer, (const char *)matrix.base + col * rows * dm_dtype_size(matrix.dtype),
                    matrix.dtype, cols * rows);
    const bool ends = block != buffer && col + cols == matrix.cols;
    for (int g = 0; g < v->count; g++) {
      const double *x = v->x + g * v->x_step + col, *sizes = v->sizes + g * v->x_step + col;
      double *y = v->y + g * v->y_step, *norms = v->norms + g * v->y_step;
      if (rows == FOUR)
        probe_take_columns(block, FOUR, cols, cols, x, sizes, y, norms);
      else
        probe_take_columns(block, rows, cols - ends, cols, x, sizes, y, norms);
    }
  }
}

DM_BOTH_WIDTHS(probe_take_vectors, (dm_view matrix, const dm_probe_vectors *v), (matrix, v))

void dm_narrow_probe_columns(dm_view matrix, const dm_probe_vectors *vectors) {
  probe_take_vectors(matrix, vectors);
}

/* ---- sums over long columns ---- */

bool dm_long_columns(dm_view matrix) {
  return !dm_dtype_is_complex(matrix.dtype) && !dm_dtype_is_integer(matrix.dtype) &&
         matrix.row_stride == 1 && matrix.col_stride != 1 && matrix.rows > 1;
}

/* PROBE_ROWS of COLS columns, packed. */
DM_INLINE void probe_pack_columns(double *block, dm_view part) {
  const size_t bytes = (size_t)part.rows * sizeof *block;
  for (int64_t l = 0; l < part.cols; l++, block += part.rows) {
    const double *column = packed_loop(block, dm_view_at(part, 0, l), part.dtype, part.rows);
    if (column != block) memcpy(block, column, bytes);
  }
}

/* Blocks that stay in cache, each of part of some columns. */
DM_INLINE void take_long_loop(dm_view matrix, const dm_probe_vectors *v) {
  enum { PROBE_ROWS = 1024, PROBE_COLS = 8 };
  double block[PROBE_ROWS * PROBE_COLS + FOUR] = {0.0};
  for (int64_t col = 0; col < matrix.cols; col += PROBE_COLS) {
    const int64_t cols = dm_min(PROBE_COLS, matrix.cols - col);
    for (int64_t row = 0; row < matrix.rows; row += PROBE_ROWS) {
      const int64_t rows = dm_min(PROBE_ROWS, matrix.rows - row);
      probe_pack_columns(block, dm_view_sub(matrix, row, col, rows, cols));
      for (int g = 0; g < v->count; g++)
        probe_take_columns(block, rows, cols, cols, v->x + g * v->x_step + col,
                           v->sizes + g * v->x_step + col, v->y + g * v->y_step + row,
                           v->norms + g * v->y_step + row);
    }
  }
}

DM_BOTH_WIDTHS(take_long, (dm_view matrix, const dm_probe_vectors *v), (matrix, v))

void dm_probe_long_columns(dm_view matrix, const dm_probe_vectors *vectors) {
  take_long(matrix, vectors);
}

/* ---- squares of columns ---- */

dm_view dm_narrow_folded(dm_view matrix) {
  const int64_t each = PROBE_BLOCK / matrix.cols;
  return dm_view_strided(matrix.base, matrix.dtype, matrix.space, matrix.rows / each,
                         each * matrix.cols, each * matrix.cols);
}
