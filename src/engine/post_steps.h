/* post_steps: starts the gather, the upload, the products or the sum of a step; the loop
 * (execute.c) polls until they are done. */
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

/* ---- when peers may read this rank's pieces of A and B, and when these may be overwritten ----
 *
 * A share is published as a whole or, while it is loaded, panel by panel. Pieces that are uploaded
 * first (plan/buffers.h) are published in the slots, in order. */

typedef struct dm_published {
  dm_rank_state *local;
  bool in_parts;     /* a share is published as it is loaded */
  int64_t loaded[2]; /* panels of A and B loaded */
  int64_t shown[2];  /* pieces of A and B published in slots */
} dm_published;

/* For one run of the loop; BRINGS: it multiplies while shares are loaded. */
void dm_publish_open(dm_rank_state *local, bool brings, dm_published *published);
void dm_publish_close(dm_published *published); /* the run went well */

/* Whether peers have read what STEP, an upload, overwrites; true for other steps. */
bool dm_publish_may_begin(const dm_published *published, const dm_step *step);

/* Whether STEP, a load or an upload, may count as done: peers learn of them in order. */
bool dm_publish_is_next(const dm_published *published, const dm_step *step);

/* STEP is done: peers may read its piece. */
void dm_publish_loaded(dm_published *published, const dm_step *step);
void dm_publish_uploaded(dm_published *published, const dm_step *step);

/* The filling (transport.h) that has the pieces of STEP, a gather. */
uint64_t dm_publish_filling(const dm_published *published, const dm_step *step);

/* ---- sums over the layers ----
 *
 * Partial blocks of C are added in ascending order of l, so that the bits do not depend on arrival
 * times. Each layer sums, and later writes, its own rows. */

/* The part of the block to sum. */
typedef struct dm_sum_part {
  int owner; /* the layer that sums, ... */
  dm_range
      rows;  /* ... these of its rows (counted within dm_rank_sums); or -1: each layer its own */
  bool last; /* last part of a block: peers may still be reading other parts */
} dm_sum_part;

/* All layers call it with the same PART, for whose rows all products are done, repeatedly until
 * *done; the owner's sums are then in c_sum. Parts are summed in the same order on all layers. PART
 * NULL: everything at once. */
dm_status dm_rank_reduce(dm_rank_state *local, const dm_sum_part *part, bool *done);

#endif
