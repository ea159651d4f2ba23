/* publish: when peers may read this rank's pieces of A and B, and when those may be overwritten.
 *
 * A share is published as a whole or, while it is read, panel by panel.  Pieces that are uploaded
 * first (plan/route.h) are published in the slots, one after the other. */
#ifndef DM_ENGINE_PUBLISH_H
#define DM_ENGINE_PUBLISH_H

#include "engine/rank_state.h"

typedef struct dm_published {
  dm_rank_state *local;
  bool in_parts;     /* a share is published as far as it is there */
  int64_t loaded[2]; /* panels of A and B */
  int64_t shown[2];  /* pieces of A and B in slots */
} dm_published;

/* Of one run of the loop; BRINGS: it multiplies while shares are brought. */
void dm_publish_open(dm_rank_state *local, bool brings, dm_published *published);
void dm_publish_close(dm_published *published); /* the run went well */

/* Whether peers have read what STEP, an upload, overwrites; of other steps always. */
bool dm_publish_may_begin(const dm_published *published, const dm_step *step);

/* Whether STEP, a load or an upload, may be seen to be done: peers hear of them in order. */
bool dm_publish_is_next(const dm_published *published, const dm_step *step);

/* STEP is done: its piece may be read. */
void dm_publish_loaded(dm_published *published, const dm_step *step);
void dm_publish_uploaded(dm_published *published, const dm_step *step);

/* The filling (gather.h) that the pieces of STEP, a gather, come with. */
uint64_t dm_publish_filling(const dm_published *published, const dm_step *step);

#endif
