/* copy: moves a matrix in host memory from one view to another, converting types on the way. */
#ifndef DM_CORE_COPY_H
#define DM_CORE_COPY_H

#include <stdbool.h>

#include "core/view.h"

/* DST = SRC, element by element, or its conjugate.  Both are in host memory, of the same shape, and
 * do not overlap.  A value that DST cannot hold is rounded to nearest, ties to even; a complex
 * number loses its imaginary part and a float its fraction when DST has none: callers refuse that
 * first. */
void dm_copy(dm_view dst, dm_view src, bool conjugate);

/* COUNT elements at SRC with STRIDE between them, as f64 (two f64 each where DTYPE is complex). */
void dm_load_wide(double *dst, const void *src, dm_dtype dtype, int64_t stride, int64_t count);

/* The way back. */
void dm_store_wide(void *dst, dm_dtype dtype, int64_t stride, const double *src, int64_t count);

/* Turns the bytes of each part of COUNT packed elements of DTYPE round, in place. */
void dm_swap_bytes(void *data, dm_dtype dtype, int64_t count);

#endif
