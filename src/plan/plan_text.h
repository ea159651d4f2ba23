/* plan_text: what identifies a plan, and the report on it. */
#ifndef DM_PLAN_PLAN_TEXT_H
#define DM_PLAN_PLAN_TEXT_H

#include <stdio.h>

#include "plan/choose.h"
#include "plan/plan.h"

/* Writes the report on BEST and its table of COUNT CANDIDATES (of dm_plan_candidates), at most 100
 * columns wide. DM_E_IO: OUT cannot be written. */
dm_status dm_plan_report(const dm_plan *best, const dm_plan *candidates, int count,
                         const dm_machine *machine, FILE *out);

/* Hash of everything that the ranks must agree on. */
uint64_t dm_plan_hash(const dm_plan *plan);

/* "grid=2x2x1 kb=1024 ... kernel=cublas": the same recipe gives the same bits on the same device
 * model. */
void dm_plan_recipe(const dm_plan *plan, char text[DM_RECIPE]);

/* " batch=20", or "" for a single product. */
const char *dm_problem_batch_text(const dm_problem *problem, char text[32]);

/* "m=400 n=50 k=60 batch=20": those of an entry. */
enum { DM_SIZES_TEXT = 120 };
const char *dm_problem_sizes(const dm_problem *problem, char text[DM_SIZES_TEXT]);

/* "512,4096": the widths of the ramp-up panels of each layer; empty without any. */
void dm_plan_ramp_text(const dm_plan *plan, char text[32]);

#endif
