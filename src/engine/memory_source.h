/* memory_source: op(A) and op(B) from memory of the caller, of the host or of this rank's GPU, to
 * where the plan wants them while products run. */
#ifndef DM_ENGINE_MEMORY_SOURCE_H
#define DM_ENGINE_MEMORY_SOURCE_H

#include "engine/source.h"

typedef struct dm_memory_source {
  /* Where the caller has this rank's piece of PANEL (dm_rank_piece): a view of its shape and type.
   * It may be the piece itself: then nothing moves. */
  dm_view (*piece)(void *context, const dm_rank_state *local, dm_matrix matrix, int64_t panel);
  void *context;

  /* ---- the source's own ---- */
  dm_event *copied[2]; /* of each panel of the layer */
} dm_memory_source;

/* For callers whose pieces of MATRIX lie one panel after the other in MEMORY: how many bytes they
 * take on this rank, and the piece of PANEL.  DM_E_FIT: they have no 64-bit size. */
dm_status dm_memory_pieces_bytes(const dm_rank_state *local, dm_matrix matrix, int64_t *bytes);
dm_view dm_memory_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel, char *memory);

extern const dm_source_ops dm_source_memory; /* of a dm_memory_source */

#endif
