/* multiply: C = alpha op(A) op(B) + beta C0, the one pipeline of all products.
 *
 * A, B, the old C and C are each in a file or in the ranks' memory, in any combination. A round
 * describes the product, plans it, opens its matrices, multiplies tile by tile, judges C, and
 * delivers and commits it, or has its wrong tiles computed again by another round. */
#ifndef DM_PRODUCT_MULTIPLY_H
#define DM_PRODUCT_MULTIPLY_H

#include "engine/phases.h"
#include "io/output.h"
#include "plan/plan.h"
#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

/* Collective. All ranks have the same MULTIPLY, but for their own memory. Rank 0 fills RECORD, even
 * if the verification failed (DM_E_VERIFY or DM_E_CORRUPT, agreed; the result keeps its .part
 * name), could not check all of C, or failed with DM_ON_CORRUPTION_WARN (DM_E_UNCHECKED, agreed;
 * the result has its name). A C in memory that failed is unchanged if it was computed as one tile,
 * which the hint says. */
dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record);

/* Collective: the plan that dm_multiply_run would follow, in RECORD on rank 0; needs and touches no
 * output. */
dm_status dm_multiply_plan(dm_run *run, const dm_multiply *multiply, dm_record *record);

/* Collective: the *FORECAST of this plan, and the *host_bytes that a rank needs, without messages,
 * unless the user wants details. */
dm_status dm_multiply_forecast(dm_run *run, const dm_multiply *multiply, dm_forecast *forecast,
                               int64_t *host_bytes);

/* Reports that C is there: an earlier run ended after it named C, but before it could report, or
 * the same command has made it. RECORD may be NULL. */
dm_status dm_multiply_done(const dm_run *run, const dm_multiply *multiply, dm_record *record);

#endif
