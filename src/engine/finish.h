/* finish: alpha, beta and the rounding to C's type, once, when sums of products become C. */
#ifndef DM_ENGINE_FINISH_H
#define DM_ENGINE_FINISH_H

#include "core/status.h"
#include "core/view.h"

/* OUT = alpha SUM + beta OLD, computed in f64 and rounded once; OLD is NULL where beta is 0, and is
 * then not read.  Whole numbers are exact; DM_E_INPUT where one does not fit OUT's type. Host
 * memory. */
dm_status dm_finish(dm_view out, dm_view sum, const dm_view *old, const double alpha[2],
                    const double beta[2]);

/* Whether finishing would change nothing: SUM can be written as it is. */
bool dm_finish_is_identity(dm_dtype out, dm_dtype sum, bool reads_old, const double alpha[2]);

#endif
