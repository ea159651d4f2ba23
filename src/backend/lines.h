/* lines: statistics of whole rows or columns, from which the exponents of residues
 * (core/residues.h) follow. */
#ifndef DM_BACKEND_LINES_H
#define DM_BACKEND_LINES_H

#include "backend/backend_table.h"

/* The statistics of each row (BY_ROW) or column of MATRIX, of f64 or f32, in either space.
 * Synchronous, exact, and in any order. NaN counts as infinite.
 *   extremes[2 l] = max |a|, extremes[2 l + 1] = max -|a| over a != 0, joined with old values;
 *   sums[DM_LINE_SUMS l + ...] += sum of dm_square(a), and counts of |a| >= 2^(top - q),
 *   q = dm_line_depths[0], ..., with max |a| < 2^top from the whole line's extremes. */
enum { DM_LINE_DEPTHS = 6, DM_LINE_SUMS = 1 + DM_LINE_DEPTHS };
extern const int dm_line_depths[DM_LINE_DEPTHS];
dm_status dm_backend_extremes(dm_backend *backend, dm_view matrix, bool by_row, double *extremes);
dm_status dm_backend_line_sums(dm_backend *backend, dm_view matrix, bool by_row,
                               const double *extremes, int64_t *sums);

#endif
