/* execute: the executor: runs the steps of a rank's cursor in the order that their dependencies
 * allow. */
#ifndef DM_ENGINE_EXECUTE_H
#define DM_ENGINE_EXECUTE_H

#include "engine/rank_state.h"

/* Called by the loop for steps that it does not do itself; NULL: nothing to do. */
typedef struct dm_step_calls {
  void *context;
  /* If LOADED is set, loads run in the background, and the loop polls until they are done. */
  dm_status (*load)(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel);
  dm_status (*loaded)(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                      bool *done);
  /* These two are called again until done; all ranks of a layer check panel after panel. */
  dm_status (*check)(void *context, dm_rank_state *local, int64_t panel, bool *done);
  /* ROWS of this rank's sums (dm_rank_sums) are complete. */
  dm_status (*store)(void *context, dm_rank_state *local, dm_range rows, bool *done);
  /* Collective, tile after tile, also on idle ranks: all ranks have stored TILE, none has begun to
   * overwrite it, and no rank failed. Needs all steps that follow a load, and a plan without strips
   * and with one block of C. */
  dm_status (*deliver)(void *context, dm_rank_state *local, int64_t tile);
  const dm_comm *halts; /* of all ranks, with DELIVER: for requests to stop, which come any time */
  dm_status (*progress)(void *context, int64_t done, int64_t total); /* in panels of all tiles */
  /* Called if nothing can be done until a load or a store progresses; NULL: sleeps briefly. */
  dm_status (*rest)(void *context);
  bool may_stop; /* on request all ranks stop after a common panel: DM_E_STOPPED */
} dm_step_calls;

/* Runs the steps of this rank's cursor whose kinds are in the set KINDS (bits 1 << kind), in the
 * order that their dependencies allow; steps of other kinds count as done. */
enum {
  DM_LOADS = 1 << DM_STEP_LOAD_A | 1 << DM_STEP_LOAD_B,
  DM_PRODUCTS = 1 << DM_STEP_FETCH_A | 1 << DM_STEP_FETCH_B | 1 << DM_STEP_UPLOAD_A |
                1 << DM_STEP_UPLOAD_B | 1 << DM_STEP_GEMM,
  DM_SUMS = 1 << DM_STEP_FINISH | 1 << DM_STEP_REDUCE,
  DM_STRIPS = 1 << DM_STEP_STRIP | DM_SUMS | 1 << DM_STEP_STORE, /* the remaining steps */
  DM_ALL_STEPS = (1 << DM_STEP_KINDS) - 1,
};
dm_status dm_execute(dm_rank_state *local, unsigned kinds, const dm_step_calls *calls);

#endif
