/* sink: receives C through a table of functions: a file (product/file_sink.h), or the caller's
 * memory (memory_source.h). Without a sink C stays in the ranks' blocks, in its accumulator's type.
 */
#ifndef DM_ENGINE_SINK_H
#define DM_ENGINE_SINK_H

#include "engine/rank_state.h"

/* The caller owns STATE. */
typedef struct dm_sink_ops {
  const char *name;
  /* Once, when the rank's buffers exist; CLOSE is called even if OPEN failed. */
  dm_status (*open)(void *state, dm_rank_state *local); /* may be NULL */
  void (*close)(void *state, dm_rank_state *local);     /* may be NULL */
  /* Collective, once, before the first store. */
  dm_status (*ready)(void *state); /* may be NULL */
  /* ROWS of this rank's sums (dm_rank_sums) of its current tile are complete; called again until
   * done. DELIVER: collective, tile after tile, also on idle ranks: all ranks have stored TILE. */
  dm_status (*store)(void *state, dm_rank_state *local, dm_range rows,
                     bool *done);                                        /* may be NULL */
  dm_status (*deliver)(void *state, dm_rank_state *local, int64_t tile); /* may be NULL */
  /* After the last store of a run: returns when C is complete and safe. */
  dm_status (*settle)(void *state); /* may be NULL */
} dm_sink_ops;

typedef struct dm_sink {
  const dm_sink_ops *ops; /* NULL: no sink */
  void *state;
} dm_sink;

#endif
