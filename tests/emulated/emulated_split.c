#include "emulated/emulated_split.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/elementary.h"
#include "core/split.h"

enum {
  ROWS = 512, /* rows and columns of C at a time, ... */
  COLS = 2048,
  DEPTH = 128, /* ... and depth of k, whose slices have their own exponents; all real */
};

/* Parts are f16 values stored as f32, where their products are exact. */
struct emulated_split {
  float *a_high, *a_low; /* ROWS x DEPTH */
  float *b_high, *b_low; /* DEPTH x COLS */
  float *b;              /* complex B expanded to a real matrix, DEPTH x COLS */
  float *c;              /* ROWS x COLS */
  int32_t rows[ROWS], cols[COLS];
  int64_t natively;
};

dm_status emulated_split_new(emulated_split **split) {
  const int64_t size = sizeof(float);
  emulated_split *s = calloc(1, sizeof *s);
  *split = s;
  if (!s) return dm_fail(DM_E_FIT, "no memory for parts of operands");
  DM_TRY(dm_buffer_alloc(ROWS * DEPTH * size, (void **)&s->a_high));
  DM_TRY(dm_buffer_alloc(ROWS * DEPTH * size, (void **)&s->a_low));
  DM_TRY(dm_buffer_alloc(DEPTH * COLS * size, (void **)&s->b_high));
  DM_TRY(dm_buffer_alloc(DEPTH * COLS * size, (void **)&s->b_low));
  DM_TRY(dm_buffer_alloc(DEPTH * COLS * size, (void **)&s->b));
  return dm_buffer_alloc(ROWS * COLS * size, (void **)&s->c);
}

void emulated_split_free(emulated_split *split) {
  if (!split) return;
  free(split->a_high);
  free(split->a_low);
  free(split->b_high);
  free(split->b_low);
  free(split->b);
  free(split->c);
  free(split);
}

int64_t emulated_split_natively(const emulated_split *split) {
  return split ? split->natively : 0;
}

static int64_t parts_of(dm_dtype dtype) {
  return dm_dtype_is_complex(dtype) ? 2 : 1;
}

/* ---- exponents ---- */

static int64_t exponents(const dm_split_line *lines, int64_t count, int32_t *to) {
  int64_t natively = 0;
  for (int64_t i = 0; i < count; i++) {
    to[i] = dm_split_exponent(lines[i]);
    natively += to[i] == DM_SPLIT_NATIVE;
  }
  return natively;
}

/* Finds exponents. Returns the number of rows of A, and of columns of B with PARTS each, that are
 * multiplied natively. */
static int64_t find_exponents(emulated_split *s, dm_view a, dm_view b, int64_t parts) {
  dm_split_line rows[ROWS], cols[COLS];
  for (int64_t i = 0; i < a.rows; i++) {
    const float *row = dm_view_at(a, i, 0);
    rows[i] = dm_split_nothing();
    for (int64_t l = 0; l < a.cols; l++) rows[i] = dm_split_include(rows[i], row[l]);
  }
  for (int64_t j = 0; j < b.cols; j++) cols[j] = dm_split_nothing();
  for (int64_t l = 0; l < b.rows; l++) {
    const float *row = dm_view_at(b, l, 0);
    for (int64_t j = 0; j < b.cols; j++) cols[j] = dm_split_include(cols[j], row[j]);
  }
  return exponents(rows, a.rows, s->rows) + exponents(cols, b.cols, s->cols) / parts;
}

/* ---- parts ---- */

static void split_number(float number, int32_t s, float *high, float *low) {
  const float x = s == DM_SPLIT_NATIVE ? 0.0f : number * dm_split_power(s);
  *high = dm_f16_to_f32(dm_f64_to_f16((double)x));
  *low = dm_f16_to_f32(dm_f64_to_f16((double)((x - *high) * (float)(1 << DM_SPLIT_LOW))));
}

static void split_both(emulated_split *s, dm_view a, dm_view b) {
  for (int64_t i = 0; i < a.rows; i++) {
    const float *row = dm_view_at(a, i, 0);
    for (int64_t l = 0, at = i * a.cols; l < a.cols; l++, at++)
      split_number(row[l], s->rows[i], &s->a_high[at], &s->a_low[at]);
  }
  for (int64_t l = 0; l < b.rows; l++) {
    const float *row = dm_view_at(b, l, 0);
    for (int64_t j = 0, at = l * b.cols; j < b.cols; j++, at++)
      split_number(row[j], s->cols[j], &s->b_high[at], &s->b_low[at]);
  }
}

/* ---- products ---- */

/* Adds the small products first, then scales their sum and adds the large ones. */
static void multiply_parts(emulated_split *s, int64_t m, int64_t n, int64_t k) {
  dm_cpu_sgemm(s->c, n, s->a_high, k, s->b_low, n, m, n, k, false);
  dm_cpu_sgemm(s->c, n, s->a_low, k, s->b_high, n, m, n, k, true);
  for (int64_t at = 0; at < m * n; at++) s->c[at] *= dm_split_power(-DM_SPLIT_LOW);
  dm_cpu_sgemm(s->c, n, s->a_high, k, s->b_high, n, m, n, k, true);
}

static void add_sums(const emulated_split *s, dm_view c, bool accumulate) {
  for (int64_t i = 0; i < c.rows; i++) {
    float *row = dm_view_at(c, i, 0);
    const float *sums = s->c + i * c.cols;
    for (int64_t j = 0; j < c.cols; j++) {
      const float sum = dm_split_unscaled(sums[j], s->rows[i], s->cols[j]);
      row[j] = accumulate ? row[j] + sum : sum;
    }
  }
}

/* C += A B for rows and columns that are multiplied natively: other sums are 0 there. */
static void add_natively(emulated_split *s, dm_view c, dm_view a, dm_view b) {
  const int64_t lda = dm_max(a.row_stride, a.cols), ldb = dm_max(b.row_stride, b.cols);
  dm_cpu_sgemm(s->c, c.cols, a.base, lda, b.base, ldb, c.rows, c.cols, a.cols, false);
  for (int64_t i = 0; i < c.rows; i++) {
    float *row = dm_view_at(c, i, 0);
    const bool whole = s->rows[i] == DM_SPLIT_NATIVE;
    for (int64_t j = 0; j < c.cols; j++)
      if (whole || s->cols[j] == DM_SPLIT_NATIVE) row[j] += s->c[i * c.cols + j];
  }
}

/* Expands complex B to a real matrix (core/split.h). Both columns of a complex one have the same
 * range. */
static dm_view expand(emulated_split *s, dm_view b) {
  const int64_t cols = 2 * b.cols;
  for (int64_t l = 0; l < b.rows; l++) {
    const float *row = dm_view_at(b, l, 0);
    float *first = s->b + 2 * l * cols, *second = first + cols;
    for (int64_t j = 0; j < cols; j += 2) {
      first[j] = second[j + 1] = row[j];
      first[j + 1] = row[j + 1];
      second[j] = -row[j + 1];
    }
  }
  return dm_view_row_major(s->b, DM_F32, 2 * b.rows, cols);
}

/* Of at most ROWS x COLS. */
static void multiply_piece(emulated_split *split, dm_view c, dm_view a, dm_view b,
                           bool accumulate) {
  const int64_t parts = parts_of(b.dtype);
  c = dm_view_parts(c);
  a = dm_view_parts(a);
  for (int64_t i = 0; i < c.rows && a.cols == 0 && !accumulate; i++)
    memset(dm_view_at(c, i, 0), 0, (size_t)c.cols * sizeof(float));
  for (int64_t k = 0; k < a.cols; k += DEPTH, accumulate = true) {
    const int64_t depth = dm_min(DEPTH, a.cols - k);
    const dm_view of_a = dm_view_sub(a, 0, k, a.rows, depth);
    dm_view of_b = dm_view_sub(b, k / parts, 0, depth / parts, b.cols);
    if (parts > 1) of_b = expand(split, of_b);
    const int64_t natively = find_exponents(split, of_a, of_b, parts);
    split_both(split, of_a, of_b);
    multiply_parts(split, c.rows, c.cols, depth);
    add_sums(split, c, accumulate);
    if (natively > 0) add_natively(split, c, of_a, of_b);
    split->natively += natively;
  }
}

void emulated_split_multiply(emulated_split *split, int64_t tile, dm_view c, dm_view a, dm_view b,
                             bool accumulate) {
  const int64_t most = tile > 0 ? tile : INT64_MAX;
  const int64_t rows = dm_min(most, ROWS), cols = dm_min(most, COLS / parts_of(b.dtype));
  for (int64_t i = 0; i < c.rows; i += rows)
    for (int64_t j = 0; j < c.cols; j += cols) {
      const int64_t down = dm_min(rows, c.rows - i), across = dm_min(cols, c.cols - j);
      multiply_piece(split, dm_view_sub(c, i, j, down, across), dm_view_sub(a, i, 0, down, a.cols),
                     dm_view_sub(b, 0, j, b.rows, across), accumulate);
    }
}
