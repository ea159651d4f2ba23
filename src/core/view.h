/* view: the only matrix type. A view describes where the elements of a matrix are; it never owns
 * them.
 *
 * Row-major and column-major matrices, transposes and sub-matrices are all views (the idea of BLIS'
 * obj_t). Strides count elements and are not negative. */
#ifndef DM_CORE_VIEW_H
#define DM_CORE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"

typedef enum dm_space { DM_HOST, DM_DEVICE } dm_space;

typedef struct dm_view {
  void *base; /* element (0, 0) */
  dm_dtype dtype;
  dm_space space;
  int64_t rows, cols;
  int64_t row_stride, col_stride;
} dm_view;

/* A rows x cols matrix in host memory with packed rows. */
dm_view dm_view_row_major(void *base, dm_dtype dtype, int64_t rows, int64_t cols);

/* A row-major matrix in SPACE with STRIDE elements from row to row. */
dm_view dm_view_strided(void *base, dm_dtype dtype, dm_space space, int64_t rows, int64_t cols,
                        int64_t stride);

/* Bytes, and elements, from row to row of a matrix in device memory. Kernels need rows at multiples
 * of 16 bytes and are up to a fifth faster at multiples of 128, a cache line; dm_device_row uses
 * those for rows of 2 KiB or more. */
int64_t dm_device_row(int64_t bytes);
int64_t dm_device_stride(int64_t cols, dm_dtype dtype);

/* Bytes of a matrix of elements of SIZE bytes: packed in host memory, with padded rows on a device;
 * saturating. */
int64_t dm_laid_out(dm_space space, int64_t rows, int64_t cols, int64_t size);

/* Rows [row, row + rows) and columns [col, col + cols) of VIEW, which must hold them. */
dm_view dm_view_sub(dm_view view, int64_t row, int64_t col, int64_t rows, int64_t cols);

dm_view dm_view_transpose(dm_view view);

/* The parts of VIEW, whose col_stride must be 1, as real numbers: two per complex element, side by
 * side. */
dm_view dm_view_parts(dm_view view);

/* Address of element (row, col). */
void *dm_view_at(dm_view view, int64_t row, int64_t col);

/* Whether the rows follow each other without gaps. */
bool dm_view_is_packed(dm_view view);

/* The elements of such a view as one row. */
dm_view dm_view_one_row(dm_view packed);

bool dm_view_is_empty(dm_view view);

/* Whether rows or columns are contiguous, and lines do not overlap. */
bool dm_view_has_lines(dm_view view);

/* SIZE rows, or columns, that are copied from FROM to TO; and the elements in all pairs of such
 * rows and columns. */
typedef struct dm_copy_run {
  int64_t to, from, size;
} dm_copy_run;

typedef struct dm_copy_runs {
  const dm_copy_run *rows, *cols;
  int64_t row_count, col_count;
} dm_copy_runs;

#endif
