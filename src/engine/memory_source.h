/* memory_source: op(A) or op(B), or both, from the caller's memory, on the host or this rank's GPU;
 * copies it to the plan's places while products run. */
#ifndef DM_ENGINE_MEMORY_SOURCE_H
#define DM_ENGINE_MEMORY_SOURCE_H

#include "engine/endpoint.h"

typedef struct dm_memory_source {
  /* The caller's memory of this rank's piece of PANEL (dm_rank_piece): a view of its shape and
   * type. It may be the piece itself: then nothing is copied. In this rank's GPU memory rows or
   * columns are contiguous. */
  dm_view (*piece)(void *context, const dm_rank_state *local, dm_matrix matrix, int64_t panel);
  void *context;
  bool conjugate[2]; /* pieces of A and B that are views of contiguous columns */

  /* ---- private ---- */
  dm_event *copied[2]; /* for each panel of the layer */
} dm_memory_source;

/* For callers that keep MATRIX's pieces beside the share: takes LOCAL's memory for them if the plan
 * copies them to a GPU. */
dm_status dm_memory_pieces_take(dm_rank_state *local, dm_matrix matrix);

/* The piece of PANEL in LOCAL's tile there, or in the share if there is no such memory. */
dm_view dm_memory_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel);

extern const dm_source_ops dm_source_memory; /* STATE: a dm_memory_source */

/* C to the caller's memory, on the host or this rank's GPU, strip by strip or tile by
 * tile while products run. */

enum { DM_MEMORY_SINK_COPIES = 8 }; /* maximum under way at once */

typedef struct dm_memory_sink {
  /* The caller's memory for what this rank sums of LOCAL's current tile (dm_rank_result): a view of
   * its shape, in C's type. From GPU memory to host memory the types must be equal. */
  dm_view (*part)(void *context, const dm_rank_state *local);
  void *context;

  /* ---- private ---- */
  struct {
    bool is_posted;
    int64_t tile, row;
    dm_event copied;
  } copies[DM_MEMORY_SINK_COPIES];
} dm_memory_sink;

extern const dm_sink_ops dm_sink_memory; /* STATE: a dm_memory_sink */

#endif
