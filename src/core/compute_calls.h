/* compute_calls: how the CPU multiplies in a compute mode with a FINISH. */
#ifndef DM_CORE_COMPUTE_CALLS_H
#define DM_CORE_COMPUTE_CALLS_H

#include "core/compute.h"

/* Exponents of the powers of two that scale the rows and columns of a part of C, if the mode has
 * moduli; stored with the operands. */
typedef struct dm_exponents {
  const int32_t *rows, *cols;
} dm_exponents;

/* The CPU's functions for a mode with a FINISH; no library has them. CONTEXT is passed as their
 * first argument. */
typedef struct dm_compute_calls {
  void *context;
  /* C[x] (+)= accumulator x's part of A B; called for parts of k in ascending order. With k = 0,
   * C[x] becomes 0 or, if ACCUMULATE, stays unchanged. */
  void (*product)(void *context, const dm_view *c, dm_view a, dm_view b, bool accumulate,
                  dm_exponents exponents);
  /* Computes the sums of COUNT elements of one row. */
  void (*finish)(void *context, void *sums, const void *const *accumulators, int64_t count,
                 dm_exponents exponents);
  /* (optional) C[x] += MORE[x]: adds the accumulators of two layers if they are not plain
   * numbers. */
  void (*join)(void *context, const dm_view *c, const dm_view *more);
} dm_compute_calls;

#endif
