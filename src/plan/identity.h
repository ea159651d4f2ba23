/* identity: the hash that ranks compare, and the recipe that determines the bits. */
#ifndef DM_PLAN_IDENTITY_H
#define DM_PLAN_IDENTITY_H

#include "plan/plan.h"

/* Hash of everything that the ranks must agree on. */
uint64_t dm_plan_hash(const dm_plan *plan);

/* "grid=2x2x1 kb=1024 ... kernel=cublas": the same recipe gives the same bits on the same device
 * model. */
void dm_plan_recipe(const dm_plan *plan, char text[DM_RECIPE]);

/* " batch=20", or "" for a single product. */
const char *dm_problem_batch_text(const dm_problem *problem, char text[32]);

/* "512,4096": the widths of the ramp-up panels of each layer; empty without any. */
void dm_plan_ramp_text(const dm_plan *plan, char text[32]);

#endif
