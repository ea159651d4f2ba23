/* symmetric: products with a symmetric C need an old C that is symmetric, too. */
#ifndef DM_PRODUCT_SYMMETRIC_H
#define DM_PRODUCT_SYMMETRIC_H

#include "backend/backend_table.h"
#include "io/read.h"
#include "plan/problem.h"
#include "run/run.h"

/* Collective: the ranks share the matrix OLD, block by block; NaN equals NaN. DM_E_INPUT: it is not
 * symmetric, or Hermitian, as PROBLEM's C. */
dm_status dm_old_is_symmetric(dm_run *run, const dm_problem *problem, dm_reader *old);

/* The same of a matrix in the memory of BACKEND, on one rank. */
dm_status dm_old_is_symmetric_there(dm_run *run, const dm_problem *problem, dm_view old,
                                    dm_backend *backend);

#endif
