/* simulate_walk: one rank's list as the simulator walks through it.  The list is walked once in its
 * own order, which is a permitted one; each pair of steps that must not change places is then shown
 * to be ordered by a chain of dependencies. */
#ifndef DM_STEPS_SIMULATE_WALK_H
#define DM_STEPS_SIMULATE_WALK_H

#include "plan/buffers.h"
#include "plan/partition.h"
#include "steps/simulate.h"

/* What a slot holds: steps by index, -1 for none. */
typedef struct dm_place {
  int64_t turn, writer, reader;
} dm_place;

/* What a place of a share holds: whether a LOAD brought something, and what.  Its readers are a
 * list through dm_walk.next. */
typedef struct dm_spot {
  int64_t band, panel, reader;
  int64_t strip; /* that read it last */
  bool filled;
} dm_spot;

/* The steps of one kind at the end of tiles, or of strips. */
typedef struct dm_ends {
  int64_t count; /* so far */
  int64_t last;
  int64_t *of; /* strips; -1: none yet */
} dm_ends;

typedef struct dm_walk {
  const dm_plan *plan;
  int rank;
  dm_range layer;
  dm_step *steps;
  int64_t count;
  int64_t *seen; /* per step: the last search that came by */
  int64_t *stack;
  int64_t searches;
  int64_t *previous; /* per product: the one before it */
  dm_buffers buffers;
  dm_route route[2];
  dm_place *ring[2][DM_HOLDERS]; /* slots that the list of buffers has */
  dm_spot *share[2];
  int64_t *next[2];    /* per step: the reader of the same place before it */
  int64_t *load[2];    /* per turn: its LOAD, which brought the piece or follows the one that did */
  int64_t turns;       /* multiplied so far */
  int64_t gemm, check; /* the last one of each */
  int64_t stores[2];   /* of the last two tiles */
  int64_t checked, kept; /* so far, counted in turns */
  dm_ends finished, reduced, stored;
  int64_t strips;   /* multiplied so far */
  int64_t *product; /* of strips: their STRIP */
} dm_walk;

#define dm_violated(w, step, ...)                                                                  \
  dm_context(dm_fail(DM_E_BUG, __VA_ARGS__), "rank %d, step %lld (%s)", (w)->rank,                 \
             (long long)(step)->index, dm_step_name((step)->kind))

/* ---- order ---- */

/* Whether step X is done before step Y starts in every permitted order.  The backend runs products
 * in the order of the list, which counts as a dependency. */
bool dm_walk_is_ordered(dm_walk *w, int64_t x, int64_t y);
dm_status dm_walk_order(dm_walk *w, const dm_step *step);

static inline int64_t dm_walk_turn(const dm_walk *w, const dm_step *step) {
  return dm_step_turn(w->plan, step, w->layer);
}

/* ---- what steps read and write, of DM_A or DM_B ---- */

int64_t dm_walk_slots(const dm_walk *w, int x, dm_holder holder); /* that the rank has */
dm_status dm_walk_place(const dm_walk *w, const dm_step *step);   /* that the shares have one */
dm_status dm_walk_write_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step);
dm_status dm_walk_read_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step);
dm_status dm_walk_load(dm_walk *w, int x, const dm_step *step);
dm_status dm_walk_read_share(dm_walk *w, int x, const dm_step *step);

/* What is not gathered must be there as a whole. */
dm_status dm_walk_read_whole(dm_walk *w, int x, const dm_step *step);

#endif
