#include "core/view.h"

#include "core/checked.h"

enum { VIEW_VECTOR = 16, VIEW_LINE = 128, LONG_ROW = 2048 }; /* bytes */

dm_view dm_view_strided(void *base, dm_dtype dtype, dm_space space, int64_t rows, int64_t cols,
                        int64_t stride) {
  return (dm_view){.base = base,
                   .dtype = dtype,
                   .space = space,
                   .rows = rows,
                   .cols = cols,
                   .row_stride = stride,
                   .col_stride = 1};
}

dm_view dm_view_row_major(void *base, dm_dtype dtype, int64_t rows, int64_t cols) {
  return dm_view_strided(base, dtype, DM_HOST, rows, cols, cols);
}

void *dm_view_at(dm_view view, int64_t row, int64_t col) {
  int64_t element = row * view.row_stride + col * view.col_stride;
  return (char *)view.base + element * dm_dtype_size(view.dtype);
}

int64_t dm_device_row(int64_t bytes) {
  return dm_round_up(bytes, bytes >= LONG_ROW ? VIEW_LINE : VIEW_VECTOR);
}

int64_t dm_device_stride(int64_t cols, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(dtype);
  return dm_device_row(cols * size) / size;
}

int64_t dm_laid_out(dm_space space, int64_t rows, int64_t cols, int64_t size) {
  const int64_t row = dm_sat_mul(cols, size);
  if (space == DM_HOST) return dm_sat_bytes(rows, cols, size);
  return dm_sat_mul(rows, row > INT64_MAX / 2 ? INT64_MAX : dm_device_row(row));
}

dm_view dm_view_sub(dm_view view, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  /* An empty view may have no memory: do not compute an address in it. */
  if (rows > 0 && cols > 0) view.base = dm_view_at(view, row, col);
  view.rows = rows;
  view.cols = cols;
  return view;
}

dm_view dm_view_transpose(dm_view view) {
  dm_view t = view;
  t.rows = view.cols;
  t.cols = view.rows;
  t.row_stride = view.col_stride;
  t.col_stride = view.row_stride;
  return t;
}

dm_view dm_view_parts(dm_view view) {
  if (!dm_dtype_is_complex(view.dtype)) return view;
  view.dtype = dm_dtype_real(view.dtype);
  view.cols *= 2;
  view.row_stride *= 2;
  return view;
}

bool dm_view_is_packed(dm_view view) {
  return view.col_stride == 1 && (view.row_stride == view.cols || view.rows <= 1);
}

dm_view dm_view_one_row(dm_view packed) {
  return dm_view_strided(packed.base, packed.dtype, packed.space, packed.rows > 0,
                         packed.rows * packed.cols, packed.rows * packed.cols);
}

bool dm_view_is_empty(dm_view view) {
  return view.rows == 0 || view.cols == 0;
}

bool dm_view_has_lines(dm_view v) {
  const bool rows = v.col_stride == 1 && (v.rows <= 1 || v.row_stride >= v.cols);
  const bool cols = v.row_stride == 1 && (v.cols <= 1 || v.col_stride >= v.rows);
  return rows || cols;
}
