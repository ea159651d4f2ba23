/* post_steps: begins the gather, the upload or the products of a step; the loop (execute.c) asks
 * until they are done. */
#ifndef DM_ENGINE_POST_STEPS_H
#define DM_ENGINE_POST_STEPS_H

#include "engine/rank_state.h"

/* FILLING: as of dm_gather. */
dm_status dm_post_fetch(dm_rank_state *local, const dm_step *step, uint64_t filling, int *ticket);
dm_status dm_post_upload(dm_rank_state *local, const dm_step *step, dm_event *event);
dm_status dm_post_gemm(dm_rank_state *local, const dm_step *step, dm_event *event);

/* All panels that were kept for the strips, k ascending; the last product's event stands for all.
 */
dm_status dm_post_strip(dm_rank_state *local, const dm_step *step, dm_event *event);

/* Sums from the accumulators of the tile, or strip. */
dm_status dm_post_finish(dm_rank_state *local, const dm_step *step, dm_event *event);

#endif
