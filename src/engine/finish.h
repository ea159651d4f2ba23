/* finish: turns sums of products into C: alpha, beta and one rounding to C's type. */
#ifndef DM_ENGINE_FINISH_H
#define DM_ENGINE_FINISH_H

#include "core/status.h"
#include "core/view.h"

/* OUT = alpha SUM + beta OLD, computed in f64 and rounded once; if beta is 0, OLD is NULL and not
 * read. Whole numbers are exact; DM_E_INPUT: one does not fit OUT's type. Host memory. */
dm_status dm_finish(dm_view out, dm_view sum, const dm_view *old, const double alpha[2],
                    const double beta[2]);

/* Whether finishing would change nothing, so that SUM can be written unchanged. */
bool dm_finish_is_identity(dm_dtype out, dm_dtype sum, bool reads_old, const double alpha[2]);

#endif
