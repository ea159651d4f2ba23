/* halves: a symmetric product of matrices where they are, by one process: half of C is multiplied,
 * in large rectangles, and then mirrored. */
#ifndef DM_PRODUCT_HALVES_H
#define DM_PRODUCT_HALVES_H

#include "backend/backend.h"
#include "plan/problem.h"

/* Posts WHOLE, a product that BACKEND suits, whose PROBLEM is symmetric; *DONE covers all of it. Of
 * the old C only the elements on and below the diagonal are read. */
dm_status dm_halves_multiply(dm_backend *backend, const dm_problem *problem,
                             const dm_whole_product *whole, dm_event *done);

#endif
