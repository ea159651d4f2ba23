/* alpha_beta: the last step from sums of products to C, in host memory; on GPUs
 * dm_backend_epilogue, with the same bits. */
#ifndef DM_ENGINE_ALPHA_BETA_H
#define DM_ENGINE_ALPHA_BETA_H

#include "core/status.h"
#include "core/view.h"

/* OUT = alpha SUM + beta OLD, computed in f64 and rounded once; if beta is 0, OLD is NULL and not
 * read. Whole numbers are exact; DM_E_INPUT: one does not fit OUT's type. Host memory. */
dm_status dm_apply_alpha_beta(dm_view out, dm_view sum, const dm_view *old, const double alpha[2],
                              const double beta[2]);

/* Whether finishing would change nothing, so that SUM can be written unchanged. */
static inline bool dm_alpha_beta_is_identity(dm_dtype out, dm_dtype sum, bool reads_old,
                                             const double alpha[2]) {
  return out == sum && !reads_old && alpha[0] == 1.0 && alpha[1] == 0.0;
}

#endif
