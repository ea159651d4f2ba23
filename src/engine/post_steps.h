/* post_steps: starts the gather, the upload or the products of a step; the loop (execute.c) polls
 * until they are done. */
#ifndef DM_ENGINE_POST_STEPS_H
#define DM_ENGINE_POST_STEPS_H

#include "engine/rank_state.h"

/* FILLING: as in dm_gather. */
dm_status dm_post_fetch(dm_rank_state *local, const dm_step *step, uint64_t filling, int *ticket);
dm_status dm_post_upload(dm_rank_state *local, const dm_step *step, dm_event *event);
dm_status dm_post_gemm(dm_rank_state *local, const dm_step *step, dm_event *event);

/* Multiplies all panels kept for the strips, k ascending; the last product's event covers all. */
dm_status dm_post_strip(dm_rank_state *local, const dm_step *step, dm_event *event);

/* Computes the sums of the tile, or strip, from its accumulators. */
dm_status dm_post_finish(dm_rank_state *local, const dm_step *step, dm_event *event);

#endif
