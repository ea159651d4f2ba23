/* steps: the sequence of steps of one rank, derived from the plan.
 *
 * A step may be posted as soon as the steps it waits for are done.  LOAD loads this rank's piece of
 * a panel into its share, unless an earlier tile left it there; CHECK passes pieces that do not
 * stay to the verification; FETCH gathers a panel from the peers into a slot of the host ring (or
 * the device ring if the transport moves GPU memory); UPLOAD copies a panel from there, or from the
 * share, into a slot of the device ring, or, before FETCH, only this rank's piece (plan/buffers.h):
 * peers must have read what it overwrites, which no step states; GEMM multiplies the panels in a
 * slot, or directly from the shares.
 *
 * With plan->strips the last panels of the layer (plan->stretch) wait for all others: KEEP replaces
 * the product of such a panel and marks it as present until the end.  Then each STRIP multiplies
 * all of them for one strip of the block's rows; REDUCE sums it over the layers and STORE stores it
 * on the layer that owns it, while the next strips are multiplied.
 *
 * If the plan's compute mode has a FINISH, that step computes the sums of a tile, or strip, from
 * its accumulators: on each layer before REDUCE, or after it on the layer that stores. */
#ifndef DM_PLAN_STEPS_H
#define DM_PLAN_STEPS_H

#include "plan/partition.h"
#include "plan/tiles.h"

typedef enum dm_step_kind {
  DM_STEP_LOAD_A,
  DM_STEP_LOAD_B,
  DM_STEP_CHECK,
  DM_STEP_FETCH_A,
  DM_STEP_FETCH_B,
  DM_STEP_UPLOAD_A,
  DM_STEP_UPLOAD_B,
  DM_STEP_GEMM,
  DM_STEP_KEEP,
  DM_STEP_STRIP,
  DM_STEP_FINISH,
  DM_STEP_REDUCE, /* over the layers; only with pk > 1 */
  DM_STEP_STORE,
  DM_STEP_KINDS,
} dm_step_kind;

enum { DM_STEP_AFTER = 5 };

typedef struct dm_step {
  int64_t index; /* 0, 1, 2, ... in the order of the cursor */
  dm_step_kind kind;
  int64_t tile;
  int64_t panel;                /* of all steps up to KEEP; -1: none */
  int64_t strip;                /* of STRIP, and of its FINISH, REDUCE and STORE; -1: none */
  int slot;                     /* of FETCH, UPLOAD and GEMM: turn % slots */
  bool brings;                  /* LOAD: the piece is not in memory yet */
  int64_t after[DM_STEP_AFTER]; /* indices of the steps this one waits for; -1: none */
} dm_step;

/* A position in a rank's list of steps; no list is stored. */
typedef struct dm_cursor {
  const dm_plan *plan;
  dm_coords coords;
  int64_t next;
  int64_t group, offset; /* position of NEXT: see steps.c */
} dm_cursor;

void dm_cursor_start(dm_cursor *cursor, const dm_plan *plan, int rank);

/* False at the end (at once for an idle rank). */
bool dm_cursor_next(dm_cursor *cursor, dm_step *step);

const char *dm_step_name(dm_step_kind kind);

static inline bool dm_step_is_product(const dm_step *step) {
  return step->kind == DM_STEP_GEMM || step->kind == DM_STEP_STRIP;
}

/* The matrix of LOAD, FETCH and UPLOAD. */
static inline dm_matrix dm_step_matrix(dm_step_kind kind) {
  return kind == DM_STEP_LOAD_A || kind == DM_STEP_FETCH_A || kind == DM_STEP_UPLOAD_A ? DM_A
                                                                                       : DM_B;
}

/* Turns are numbered consecutively: the panels of the first tile that this run computes, then those
 * of the next ... */
static inline int64_t dm_step_turn(const dm_plan *plan, const dm_step *step, dm_range layer) {
  return dm_plan_todo_place(plan, step->tile) * dm_range_size(layer) + step->panel - layer.begin;
}

#endif
