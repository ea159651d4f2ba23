/* partition: who owns what of A, B and C, and of k. */
#ifndef DM_PLAN_PARTITION_H
#define DM_PLAN_PARTITION_H

#include "plan/plan.h"

/* Part INDEX of TOTAL cut into PARTS runs whose borders are multiples of STEP; sizes differ by at
 * most STEP (and the remainder at the end), some may be empty. */
dm_range dm_split(int64_t total, int64_t parts, int64_t index, int64_t step);

static inline int64_t dm_range_size(dm_range range) {
  return range.end - range.begin;
}

/* Whether they share an index. */
static inline bool dm_range_meets(dm_range a, dm_range b) {
  return a.begin < b.end && b.begin < a.end;
}

dm_coords dm_plan_coords(const dm_plan *plan, int rank);
int dm_plan_rank(const dm_plan *plan, int i, int j, int l);
int dm_plan_used(const dm_plan *plan); /* pm*pn*pk */

/* Of tile T (see tiles.h); in no other tile are they larger than in tile 0. */
dm_range dm_plan_rows(const dm_plan *plan, int64_t t, int i);           /* rows of C(i, .) */
dm_range dm_plan_cols(const dm_plan *plan, int64_t t, int j);           /* columns of C(., j) */
dm_range dm_plan_a_share(const dm_plan *plan, int64_t t, int i, int j); /* rows of op(A) */
dm_range dm_plan_c_share(const dm_plan *plan, int64_t t, int i, int l); /* that layer l sums */

/* Strip STRIP of the blocks C(i, .), of pk * plan->strips: first one of each layer's rows, then the
 * second ones ... */
typedef struct dm_strip {
  int owner;     /* layer that sums it */
  dm_range rows; /* counted within that layer's */
  int64_t from;  /* first row, counted within the block */
} dm_strip;
dm_strip dm_plan_strip(const dm_plan *plan, int i, int64_t strip);
int64_t dm_plan_strips(const dm_plan *plan); /* of all layers together */

dm_range dm_plan_layer(const dm_plan *plan, int l);                  /* panels of layer l */
dm_range dm_plan_panel(const dm_plan *plan, int64_t p);              /* k of panel p */
dm_range dm_plan_layer_k(const dm_plan *plan, int l);                /* k of layer l */
dm_range dm_plan_b_share(const dm_plan *plan, int64_t panel, int i); /* rows of op(B) */
int64_t dm_plan_b_share_rows(const dm_plan *plan, int i, int l);     /* of all panels of layer l */

/* Narrow panels that each layer begins with. */
int dm_plan_ramp_count(const int64_t ramp[DM_RAMP]);

/* Panels of KB, and such ones, that cut K into LAYERS. */
int64_t dm_panels_of(int64_t k, int layers, int64_t kb, const int64_t ramp[DM_RAMP]);

/* Of the widest panel: its width, and what rank (i, ., .) owns of its rows in B. */
int64_t dm_plan_width(const dm_plan *plan);
int64_t dm_plan_b_share_most(const dm_plan *plan, int i);

/* ---- how matrices move ---- */

/* How a matrix reaches the multiplication: gathered from peers, copied to a GPU by panels? */
bool dm_plan_fetches_a(const dm_plan *plan);
bool dm_plan_fetches_b(const dm_plan *plan);
bool dm_plan_uploads_a(const dm_plan *plan);
bool dm_plan_uploads_b(const dm_plan *plan);

#endif
