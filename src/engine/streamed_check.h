/* streamed_check: verification if panels of A and B do not stay in memory. */
#ifndef DM_ENGINE_STREAMED_CHECK_H
#define DM_ENGINE_STREAMED_CHECK_H

#include "check/freivalds.h"
#include "engine/endpoint.h"
#include "engine/execute.h"
#include "engine/rank_state.h"

/* Belongs to a rank state; initially zero. */
typedef struct dm_streamed_check {
  dm_freivalds *check;
  dm_panel_sum sum; /* sum of the panel being scanned */
} dm_streamed_check;

/* Collective: reads a few rows of op(B), or scans the shares if they have all of it, and chooses
 * weights from them. */
dm_status dm_streamed_check_sample(dm_streamed_check *streamed, dm_rank_state *local,
                                   const dm_source *b);

/* CHECK of dm_step_calls. */
dm_status dm_streamed_check_panel(dm_streamed_check *streamed, dm_rank_state *local, int64_t panel,
                                  bool *done);

#endif
