/* publish: when peers may read this rank's pieces of A and B, and when these may be overwritten.
 *
 * A share is published as a whole or, while it is loaded, panel by panel. Pieces that are uploaded
 * first (plan/route.h) are published in the slots, in order. */
#ifndef DM_ENGINE_PUBLISH_H
#define DM_ENGINE_PUBLISH_H

#include "engine/rank_state.h"

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

#endif
