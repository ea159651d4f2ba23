/* passing: the verification's look at panels of A and B that are not kept. */
#ifndef DM_ENGINE_PASSING_H
#define DM_ENGINE_PASSING_H

#include "check/freivalds.h"
#include "engine/load.h"
#include "engine/task.h"

/* Of a task; zero at first. */
typedef struct dm_passing {
  dm_freivalds *check;
  dm_sum *sum; /* of the panel that is looked at */
} dm_passing;

/* Collective: reads a few rows of op(B), and chooses weights by them. */
dm_status dm_passing_sample(dm_passing *passing, dm_run *run, const dm_problem *problem,
                            dm_source *b);

/* The check of dm_task_calls. */
dm_status dm_passing_check(dm_passing *passing, dm_task *task, int64_t panel, bool *done);

#endif
