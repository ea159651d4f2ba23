/* memory_sink: C to the caller's memory, on the host or this rank's GPU, strip by strip or tile by
 * tile while products run. */
#ifndef DM_ENGINE_MEMORY_SINK_H
#define DM_ENGINE_MEMORY_SINK_H

#include "engine/sink.h"

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
