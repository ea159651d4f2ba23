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

/* makes a square matrix in host memory symmetric. */

/* The elements of SQUARE above its diagonal become the mirror images of those below, with CONJUGATE
 * their conjugates; the diagonal then becomes real. */
void dm_mirror(dm_view square, bool conjugate);

/* Conjugates the elements of VIEW, in host memory. */
void dm_conjugate(dm_view view);

#endif
