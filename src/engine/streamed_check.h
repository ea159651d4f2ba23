/* streamed_check: verification with panels of A and B that are not kept. */
#ifndef DM_ENGINE_STREAMED_CHECK_H
#define DM_ENGINE_STREAMED_CHECK_H

#include "check/freivalds.h"
#include "engine/execute.h"
#include "engine/rank_state.h"
#include "engine/source.h"

/* Of a rank state; zero at first. */
typedef struct dm_streamed_check {
  dm_freivalds *check;
  dm_panel_sum sum; /* of the panel that is looked at */
} dm_streamed_check;

/* Collective: reads a few rows of op(B), and chooses weights by them. */
dm_status dm_streamed_check_sample(dm_streamed_check *streamed, dm_run *run,
                                   const dm_problem *problem, const dm_source *b);

/* The check of dm_step_calls. */
dm_status dm_streamed_check_panel(dm_streamed_check *streamed, dm_rank_state *local, int64_t panel,
                                  bool *done);

#endif
