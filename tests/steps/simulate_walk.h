/* simulate_walk: the simulator's state while it walks through one rank's list. It walks once, in
 * list order, which is permitted; for each pair of steps that must not be swapped it then proves
 * that a chain of dependencies orders them. */
#ifndef DM_STEPS_SIMULATE_WALK_H
#define DM_STEPS_SIMULATE_WALK_H

#include "plan/buffers.h"
#include "plan/partition.h"
#include "steps/simulate.h"

/* Contents of a slot: indices of steps, -1: none. */
typedef struct dm_element_place {
  int64_t turn, writer, reader;
} dm_element_place;

/* Contents of a place of a share: whether a LOAD filled it, and with what. dm_walk.next lists its
 * readers. */
typedef struct dm_spot {
  int64_t band, panel, reader;
  int64_t strip; /* the last strip that read it */
  bool filled;
} dm_spot;

/* Steps of one kind at the end of tiles or strips. */
typedef struct dm_ends {
  int64_t count; /* so far */
  int64_t last;
  int64_t *of; /* per strip; -1: none yet */
} dm_ends;

typedef struct dm_walk {
  const dm_plan *plan;
  int rank;
  dm_range layer;
  dm_step *steps;
  int64_t count;
  int64_t *seen; /* per step: the last search that visited it */
  int64_t *stack;
  int64_t searches;
  int64_t *previous; /* per product: the one before it */
  dm_buffers buffers;
  dm_route route[2];
  dm_element_place *ring[2][DM_HOLDERS]; /* slots in the list of buffers */
  dm_spot *share[2];
  int64_t *next[2];    /* per step: the previous reader of the same place */
  int64_t *load[2];    /* per turn: its LOAD, which filled the piece or follows the one that did */
  int64_t turns;       /* multiplied so far */
  int64_t gemm, check; /* the last ones */
  int64_t stores[2];   /* of the last two tiles */
  int64_t checked, kept; /* so far, in turns */
  dm_ends finished, reduced, stored;
  int64_t strips;   /* multiplied so far */
  int64_t *product; /* per strip: its STRIP step */
} dm_walk;

#define dm_violated(w, step, ...)                                                                  \
  dm_context(dm_fail(DM_E_BUG, __VA_ARGS__), "rank %d, step %lld (%s)", (w)->rank,                 \
             (long long)(step)->index, dm_step_name((step)->kind))

/* ---- order ---- */

/* Whether step X is done before step Y starts in every permitted order. The backend runs products
 * in list order, which counts as a dependency. */
bool dm_walk_is_ordered(dm_walk *w, int64_t x, int64_t y);
dm_status dm_walk_order(dm_walk *w, const dm_step *step);

static inline int64_t dm_walk_turn(const dm_walk *w, const dm_step *step) {
  return dm_step_turn(w->plan, step, w->layer);
}

/* ---- what steps read and write, of DM_A or DM_B ---- */

int64_t dm_walk_slots(const dm_walk *w, int x, dm_holder holder); /* this rank's number of slots */
dm_status dm_walk_place(const dm_walk *w,
                        const dm_step *step); /* checks that the shares have a place */
dm_status dm_walk_write_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step);
dm_status dm_walk_read_slot(dm_walk *w, int x, dm_holder ring, const dm_step *step);
dm_status dm_walk_load(dm_walk *w, int x, const dm_step *step);
dm_status dm_walk_read_share(dm_walk *w, int x, const dm_step *step);

/* Shares that are not gathered must be complete. */
dm_status dm_walk_read_whole(dm_walk *w, int x, const dm_step *step);

#endif
