/* copy: copies a matrix in host memory from one view to another and converts its type. */
#ifndef DM_CORE_COPY_H
#define DM_CORE_COPY_H

#include <stdbool.h>

#include "core/view.h"

/* DST = SRC, element by element, or its conjugate. Both are in host memory, have the same shape,
 * and do not overlap. Values that DST cannot hold are rounded to nearest, ties to even. If DST has
 * none, complex numbers lose their imaginary part and floats their fraction: callers reject that
 * first. */
void dm_copy(dm_view dst, dm_view src, bool conjugate);

/* Loads COUNT elements at SRC, STRIDE elements apart, as f64 (two f64 each if DTYPE is complex). */
void dm_load_wide(double *dst, const void *src, dm_dtype dtype, int64_t stride, int64_t count);

/* The reverse of dm_load_wide. */
void dm_store_wide(void *dst, dm_dtype dtype, int64_t stride, const double *src, int64_t count);

/* Reverses the bytes of each part of COUNT packed elements of DTYPE, in place. */
void dm_swap_bytes(void *data, dm_dtype dtype, int64_t count);

/* Makes a part of a square matrix in host memory symmetric: elements above the diagonal in the
 * COUNT rows from ROW on become the mirror images of those below it, if these are in rows from
 * FIRST on; with CONJUGATE their conjugates, and the diagonal there becomes real. */
void dm_mirror(dm_view square, int64_t first, int64_t row, int64_t count, bool conjugate);

/* Sets the elements of VIEW, in host memory, to 0 that are above, or BELOW, the diagonal of a
 * matrix in which VIEW starts at (ROW, COL). */
void dm_clear_triangle(dm_view view, int64_t row, int64_t col, bool below);

/* Conjugates the elements of VIEW, in host memory. */
void dm_conjugate(dm_view view);

#endif
