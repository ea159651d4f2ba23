/* compute_calls: how products by a row of compute modes with a FINISH are done, on the CPU. */
#ifndef DM_CORE_COMPUTE_CALLS_H
#define DM_CORE_COMPUTE_CALLS_H

#include "core/compute.h"

/* By which powers of two rows and columns of a part of C are scaled, where the row has moduli; in
 * the memory of its operands. */
typedef struct dm_exponents {
  const int32_t *rows, *cols;
} dm_exponents;

/* What the CPU does by a row with a FINISH: no library does it.  CONTEXT is the first argument of
 * each. */
typedef struct dm_compute_calls {
  void *context;
  /* C[x] (+)= the part of A B that accumulator x takes; called for parts of k in ascending order.
   * Where k is 0, C[x] becomes 0, or stays. */
  void (*product)(void *context, const dm_view *c, dm_view a, dm_view b, bool accumulate,
                  dm_exponents exponents);
  /* The sums of COUNT elements of one row. */
  void (*finish)(void *context, void *sums, const void *const *accumulators, int64_t count,
                 dm_exponents exponents);
  /* (optional) C[x] += MORE[x]: accumulators of two layers that are not just numbers. */
  void (*join)(void *context, const dm_view *c, const dm_view *more);
} dm_compute_calls;

#endif
