/* whole_product: how a BLAS library sees a product of whole matrices in either storage order. */
#ifndef DM_BACKEND_WHOLE_PRODUCT_H
#define DM_BACKEND_WHOLE_PRODUCT_H

#include "backend/backend_table.h"
#include "core/checked.h"

/* Entry E of PRODUCT by itself. */
static inline dm_whole_product dm_whole_entry(const dm_whole_product *product, int64_t e) {
  const int64_t entries = dm_max(1, product->entries);
  dm_whole_product one = *product;
  dm_view *const views[] = {&one.a, &one.b, &one.c};
  for (int x = 0; x < 3; x++) {
    const int64_t rows = views[x]->rows / entries;
    *views[x] = dm_view_sub(*views[x], e * rows, 0, rows, views[x]->cols);
  }
  one.entries = 0;
  return one;
}

/* An operand for a column-major library: its memory, op and leading dimension. */
typedef struct dm_blas_operand {
  const void *base;
  enum { DM_BLAS_N, DM_BLAS_T, DM_BLAS_C, DM_BLAS_NONE } op; /* NONE: the library has no such op */
  int64_t leading;
} dm_blas_operand;

/* C = LEFT RIGHT, column-major; a C with contiguous rows is its transpose: C^T = op(B)^T op(A)^T.
 */
typedef struct dm_blas_product {
  dm_blas_operand left, right;
  int64_t rows, cols, depth, leading; /* of C */
} dm_blas_product;

static inline bool dm_blas_by_rows(dm_view v) {
  return v.col_stride == 1 && (v.rows == 1 || v.row_stride >= v.cols);
}

/* VIEW, or with TURNED its transpose, as an operand. Libraries conjugate only while they transpose.
 */
static inline dm_blas_operand dm_blas_operand_of(dm_view view, bool conjugate, bool turned) {
  const bool rows = dm_blas_by_rows(view);
  const bool transposes = rows != turned; /* rows are columns of the transpose */
  conjugate &= dm_dtype_is_complex(view.dtype);
  const int64_t leading = rows ? dm_max(view.rows > 1 ? view.row_stride : 0, view.cols)
                               : dm_max(view.cols > 1 ? view.col_stride : 0, view.rows);
  return (dm_blas_operand){.base = view.base,
                           .op = !transposes ? (conjugate ? DM_BLAS_NONE : DM_BLAS_N)
                                 : conjugate ? DM_BLAS_C
                                             : DM_BLAS_T,
                           .leading = dm_max(1, leading)};
}

static inline dm_blas_product dm_blas_product_of(const dm_whole_product *p) {
  const bool turned = dm_blas_by_rows(p->c);
  const dm_blas_operand a = dm_blas_operand_of(p->a, p->conjugate_a, turned);
  const dm_blas_operand b = dm_blas_operand_of(p->b, p->conjugate_b, turned);
  const dm_view c = turned ? dm_view_transpose(p->c) : p->c;
  return (dm_blas_product){.left = turned ? b : a,
                           .right = turned ? a : b,
                           .rows = c.rows,
                           .cols = c.cols,
                           .depth = p->a.cols,
                           .leading = dm_max(c.cols > 1 ? c.col_stride : 0, dm_max(1, c.rows))};
}

/* C^T = op(B)^T op(A)^T. */
static inline dm_whole_product dm_whole_transposed(const dm_whole_product *p) {
  dm_whole_product turned = *p;
  turned.exponents = (dm_exponents){p->exponents.cols, p->exponents.rows};
  turned.row_parts = !p->row_parts;
  turned.c = dm_view_transpose(p->c);
  turned.a = dm_view_transpose(p->b);
  turned.b = dm_view_transpose(p->a);
  turned.conjugate_a = p->conjugate_b;
  turned.conjugate_b = p->conjugate_a;
  return turned;
}

/* The product of ROWS rows from ROW and COLS columns from COL of C; A and B are the caller's part.
 */
static inline dm_whole_product dm_whole_part(const dm_whole_product *product, int64_t row,
                                             int64_t rows, int64_t col, int64_t cols) {
  dm_whole_product part = *product;
  const int64_t parts = dm_dtype_is_complex(product->a.dtype) ? 2 : 1;
  part.c = dm_view_sub(product->c, row, col, rows, cols);
  if (!product->exponents.rows) return part;
  part.exponents.rows += product->row_parts ? parts * row : row;
  part.exponents.cols += product->row_parts ? col : parts * col;
  return part;
}

/* ---- symmetric products ---- */

/* A C of N columns that is small beside K: GPUs divide k, and sum in f32 or f64, whatever C's type.
 */
enum { DM_DEEP_COLUMNS = 4096, DM_DEEP = 4 };
static inline bool dm_whole_is_deep(int64_t n, int64_t k) {
  return n <= DM_DEEP_COLUMNS && k >= DM_DEEP * n;
}

/* The same product with a C by rows. */
static inline dm_whole_product dm_whole_by_rows(const dm_whole_product *p) {
  return dm_blas_by_rows(p->c) ? *p : dm_whole_transposed(p);
}

static inline bool dm_whole_is_hermitian(const dm_whole_product *p) {
  return p->conjugate_a != p->conjugate_b && dm_dtype_is_complex(p->a.dtype);
}

#endif
