/* execute: the executor: runs the steps of a rank's cursor in the order that their dependencies
 * allow. */
#ifndef DM_ENGINE_EXECUTE_H
#define DM_ENGINE_EXECUTE_H

#include "engine/endpoint.h"
#include "engine/rank_state.h"

/* Where pieces come from and sums go to, and what else the loop calls; NULL: nothing to do. */
typedef struct dm_step_calls {
  dm_source source[2]; /* of A and of B; without OPS nothing is loaded */
  dm_sink sink;        /* without OPS nothing is stored */
  void *context;       /* of the functions below */
  /* The piece of PANEL is loaded. */
  dm_status (*arrived)(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel);
  /* Called again until done; all ranks of a layer check panel after panel. */
  dm_status (*check)(void *context, dm_rank_state *local, int64_t panel, bool *done);
  dm_status (*progress)(void *context, int64_t done, int64_t total); /* in panels of all tiles */
  /* Called if nothing can be done until a load or a store progresses; NULL: sleeps briefly. */
  dm_status (*rest)(void *context);
  void (*storing)(dm_run *run); /* called before each attempt to store */
  /* The sink delivers tile after tile, when all ranks have stored it, none has begun to overwrite
   * it, and no rank failed. Needs all steps that follow a load, and a plan without strips and with
   * one block of C. */
  bool delivers;
  const dm_comm
      *halts; /* of all ranks, if tiles are delivered: for requests to stop, which come any time */
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
