/* simulate: executes the steps of all ranks symbolically and proves that they multiply the
 * matrices. */
#ifndef DM_STEPS_SIMULATE_H
#define DM_STEPS_SIMULATE_H

#include "plan/steps.h"

/* Delivers the next step of CURSOR's rank, or false at the end; dm_cursor_next with a context. */
typedef bool (*dm_step_source)(void *context, dm_cursor *cursor, dm_step *step);

/* Proves the following for PLAN and its steps, or returns DM_E_BUG naming the violation and its
 * place:
 *
 * tiling: blocks tile C, panels tile k, layers tile the panels, shares tile A, B and C, strips tile
 *   each layer's sums, and ranks and coordinates in the grid correspond one to one;
 * products: every rank multiplies every panel of its layer once, k ascending, for every row of its
 *   block; with the tiling, every a(i,k) b(k,j) of the m x n x k box is added exactly once and in
 *   order; complete blocks are summed once, and stored once by their owner;
 * slots: in every order that the dependencies permit, steps only read written data, and nothing is
 *   overwritten before it was read;
 * matching: the ranks of a group post the same gathers and sums, and no rank waits forever.
 *
 * Takes time and memory in proportion to the number of steps; DM_E_FIT: too little memory. */
dm_status dm_plan_simulate(const dm_plan *plan);

/* The same for steps that SOURCE delivers; it delivers each rank's list twice. */
dm_status dm_plan_simulate_with(const dm_plan *plan, dm_step_source source, void *context);

/* ---- parts ---- */

typedef struct dm_simulation {
  const dm_plan *plan;
  dm_step_source source;
  void *context;
} dm_simulation;

dm_status dm_simulate_tiling(const dm_plan *plan);                     /* simulate_tiling.c */
dm_status dm_simulate_rank(const dm_simulation *simulation, int rank); /* simulate_rank.c */
dm_status dm_simulate_matching(const dm_simulation *simulation);       /* simulate_matching.c */

#endif
