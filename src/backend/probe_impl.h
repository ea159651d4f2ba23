/* probe_impl: the sums of probe.h for packed rows, or columns, of few elements, and for contiguous
 * columns. */
#ifndef DM_BACKEND_PROBE_IMPL_H
#define DM_BACKEND_PROBE_IMPL_H

#include "backend/probe.h"

enum { DM_NARROW = 64 }; /* most elements of such a line */

/* Whether MATRIX, of real floating-point numbers in host memory, consists of such rows, or
 * columns. */
bool dm_narrow_rows(dm_view matrix);
bool dm_narrow_columns(dm_view matrix);

/* dm_host_probe_groups for narrow rows in one group. */
void dm_narrow_probe_rows(dm_view matrix, const dm_probe_groups *groups);

/* dm_host_probe_vectors for narrow rows, and for narrow columns. */
void dm_narrow_probe_row_vectors(dm_view matrix, const dm_probe_vectors *vectors);
void dm_narrow_probe_columns(dm_view matrix, const dm_probe_vectors *vectors);

/* Whether MATRIX, of real floating-point numbers in host memory, has contiguous columns, not rows;
 * and dm_host_probe_vectors for these. */
bool dm_long_columns(dm_view matrix);
void dm_probe_long_columns(dm_view matrix, const dm_probe_vectors *vectors);

/* The elements of a matrix of narrow rows as one of long rows, of as many whole rows each as have
 * room; what remains at the end is left out. */
dm_view dm_narrow_folded(dm_view matrix);

#endif
