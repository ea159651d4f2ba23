/* last_strips: the end of a product, so that C can be summed over the layers, and written, while
 * the rest of it is computed.
 *
 * While panels arrive the whole block advances; the last ones (plan->stretch) are multiplied for
 * one strip of its rows after the other.  Strips of the layers take turns: what is complete is
 * summed by the layer whose rows it has, which stores it. */
#ifndef DM_ENGINE_LAST_STRIPS_H
#define DM_ENGINE_LAST_STRIPS_H

#include "engine/rank_state.h"

/* Collective.  After dm_execute has run the other products: computes, sums and stores the strips of
 * this rank's block (plan->strips; all panels are there, and stay).  Like dm_execute, it may be
 * stopped, after a common strip. */
dm_status dm_multiply_last_strips(dm_rank_state *local, const dm_step_calls *calls);

#endif
