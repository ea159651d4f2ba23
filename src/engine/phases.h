/* phases: durations of the parts of a multiplication, on the slowest rank. */
#ifndef DM_ENGINE_PHASES_H
#define DM_ENGINE_PHASES_H

#include "check/freivalds.h"
#include "engine/rank_state.h"
#include "engine/share_sums.h"
#include "run/record.h"

/* Collective: largest seconds of any rank; bytes are summed. */
dm_status dm_phases_worst(const dm_run *run, const dm_rank_state *local, dm_phases *worst);

/* Collective: what each rank spent, MINE on this one: for up to 1024 ranks one by one (ranks.*_s),
 * and of all of them most, mean and least (phases.*).  RECORD is that of rank 0, else NULL. */
dm_status dm_phases_by_rank(const dm_run *run, const dm_phases *mine, dm_record *record);

/* Ends a round of steps of KINDS that took SECONDS: what the trace counted goes to PHASES.  Beside
 * products, reading and writing count where no product, and nothing else that a product waits for,
 * was under way; a round without products is reading or writing alone.  OTHERS: PHASES' check and
 * verify when it began, for what was added is no part of reading, writing or multiplying. */
void dm_phases_take(const dm_trace *trace, unsigned kinds, double seconds, double others,
                    dm_phases *phases);

/* Floating-point operations of the whole product, 2mnk (8mnk for complex numbers), per second. */
double dm_phases_flops(const dm_phases *worst, const dm_plan *plan);
double dm_product_flops(const dm_problem *problem);

/* Collective: seconds of all ranks divided by their number; bytes are MINE. */
dm_status dm_phases_mean(const dm_run *run, const dm_phases *mine, dm_phases *mean);

/* All that was counted; what has passed since main. */
double dm_phases_sum(const dm_phases *phases);

/* Times are the MEAN of all ranks, which add up to TOTAL; the rate is that of the slowest rank. */
void dm_phases_record(const dm_phases *worst, const dm_phases *mean, const dm_plan *plan,
                      double total, dm_record *record);

/* Rows and columns that were not split, where the row of compute modes splits. */
void dm_phases_record_natively(const dm_phases *worst, const dm_plan *plan, dm_record *record);

/* TAKE(CONTEXT, ...) for what resides on this rank of op(A) or op(B), each piece once. */
dm_status dm_each_piece(dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                        void *context);

/* Collective: a check of PLAN's product.  A in GPU memory would be looked at anew for each group of
 * columns: there is one. */
dm_status dm_check_new(const dm_run *run, const dm_plan *plan, const double alpha[2],
                       const double beta[2], dm_freivalds **check);

/* Collective: gathers what the verification needs of A and B, from the shares, and compares those
 * with SUMS (NULL: there are none) on the way. */
dm_status dm_check_operands(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums);

#endif
