/* old_symmetric: checks that the old C that a symmetric product adds is symmetric, too. */
#ifndef DM_PRODUCT_OLD_SYMMETRIC_H
#define DM_PRODUCT_OLD_SYMMETRIC_H

#include "file/read.h"
#include "plan/problem.h"
#include "run/run.h"

/* Collective: the ranks share OLD, which READER reads, or else the one rank's matrix in host
 * memory, block by block; NaN equals NaN. DM_E_INPUT: it is not symmetric, or Hermitian, as
 * PROBLEM's C. */
dm_status dm_old_is_symmetric(dm_run *run, const dm_problem *problem, dm_reader *reader,
                              dm_view old);

#endif
