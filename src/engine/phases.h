/* phases: durations of the parts of a multiplication, on the slowest rank. */
#ifndef DM_ENGINE_PHASES_H
#define DM_ENGINE_PHASES_H

#include "engine/rank_state.h"
#include "plan/plan.h"
#include "run/record.h"

/* Collective: the maximum seconds of all ranks, and the sum of their bytes. */
dm_status dm_phases_worst(const dm_run *run, const dm_rank_state *local, dm_phases *worst);

/* Collective: records the seconds of each rank, MINE on this one: for up to 1024 ranks individually
 * (ranks.*_s), and their maximum, mean and minimum (phases.*). RECORD is NULL except on rank 0. */
dm_status dm_phases_by_rank(const dm_run *run, const dm_phases *mine, dm_record *record);

/* Ends a round of steps of KINDS that took SECONDS: adds the trace's times to PHASES. In a round
 * with products, reading and writing only count while neither a product nor anything that
 * products wait for was under way; a round without products only reads or writes. OTHERS:
 * PHASES' check and verify at the start of the round; their increase is not part of reading,
 * writing or multiplying. */
void dm_phases_take(const dm_trace *trace, unsigned kinds, double seconds, double others,
                    dm_phases *phases);

/* Floating-point operations of the whole product, 2mnk (8mnk for complex numbers), per second. */
double dm_phases_flops(const dm_phases *worst, const dm_plan *plan);
double dm_product_flops(const dm_problem *problem);

/* Collective: seconds of all ranks divided by their number; bytes are MINE. */
dm_status dm_phases_mean(const dm_run *run, const dm_phases *mine, dm_phases *mean);

/* The sum of all phases; the seconds since main. */
double dm_phases_sum(const dm_phases *phases);

/* The times are the MEAN of all ranks, which add up to TOTAL; the rate is that of the slowest
 * rank. */
void dm_phases_record(const dm_phases *worst, const dm_phases *mean, const dm_plan *plan,
                      double total, dm_record *record);

/* Records the rows and columns that were not split, if the compute mode splits. */
void dm_phases_record_natively(const dm_phases *worst, const dm_plan *plan, dm_record *record);

/* ---- the predicted times of a plan, in a record ---- */

/* Seconds of each phase (forecast.*_s) and the resource of MACHINE that bounds it (bound.*); only
 * for machine-readable records. */
void dm_forecast_record(const dm_plan *plan, const dm_machine *machine, dm_record *record);

#endif
