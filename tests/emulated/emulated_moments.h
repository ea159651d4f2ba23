/* emulated_moments: the cuda backend's moments of lines, centered copies and covariances of pairs,
 * element by element. */
#ifndef DM_TESTS_EMULATED_EMULATED_MOMENTS_H
#define DM_TESTS_EMULATED_EMULATED_MOMENTS_H

#include "backend/backend.h"

dm_status emulated_moments(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                           double *numbers, int64_t *first);
dm_status emulated_center(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                          const dm_centering *centering);
dm_status emulated_pairs(dm_backend *backend, dm_view c, const dm_pairs *of,
                         const dm_pair_form *form, bool *doubtful);
dm_status emulated_correlate(dm_backend *backend, dm_view c, int64_t row, int64_t col,
                             double factor, bool diagonal);

#endif
