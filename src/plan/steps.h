/* steps: what one rank does, one step after the other, derived from the plan.
 *
 * A step may be posted as soon as the steps it waits for are done.  FETCH gathers a panel from the
 * peers into a slot of the host ring (or of the device ring where the transport moves GPU memory);
 * UPLOAD copies a panel from there, or from the share, into a slot of the device ring; GEMM
 * multiplies the panels in a slot, or straight from the shares. */
#ifndef DM_PLAN_STEPS_H
#define DM_PLAN_STEPS_H

#include "plan/plan.h"

typedef enum dm_step_kind {
  DM_STEP_LOAD_A, /* the whole share */
  DM_STEP_LOAD_B,
  DM_STEP_FETCH_A,
  DM_STEP_FETCH_B,
  DM_STEP_UPLOAD_A,
  DM_STEP_UPLOAD_B,
  DM_STEP_GEMM,
  DM_STEP_REDUCE, /* over the layers; only with pk > 1 */
  DM_STEP_STORE,
  DM_STEP_KINDS,
} dm_step_kind;

enum { DM_STEP_AFTER = 4 };

typedef struct dm_step {
  int64_t index; /* 0, 1, 2, ... in the order of the cursor */
  dm_step_kind kind;
  int64_t panel;                /* of FETCH, UPLOAD and GEMM */
  int slot;                     /* panel % slots, counted within the layer */
  int64_t after[DM_STEP_AFTER]; /* indices of the steps this one waits for; -1: none */
} dm_step;

/* A place in a rank's list of steps; no list is stored. */
typedef struct dm_cursor {
  const dm_plan *plan;
  dm_place place;
  int64_t next;
} dm_cursor;

void dm_cursor_start(dm_cursor *cursor, const dm_plan *plan, int rank);

/* False at the end (at once for an idle rank). */
bool dm_cursor_next(dm_cursor *cursor, dm_step *step);

/* Number of steps of a rank. */
int64_t dm_steps_count(const dm_plan *plan, int rank);

const char *dm_step_name(dm_step_kind kind);

#endif
