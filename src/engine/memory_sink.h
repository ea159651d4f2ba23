/* memory_sink: C into memory of the caller, of the host or of this rank's GPU, strip by strip or
 * tile by tile while products run. */
#ifndef DM_ENGINE_MEMORY_SINK_H
#define DM_ENGINE_MEMORY_SINK_H

#include "engine/sink.h"

enum { DM_MEMORY_SINK_COPIES = 8 }; /* under way at a time */

typedef struct dm_memory_sink {
  /* Where the caller wants what this rank sums of the tile that LOCAL is turned to
   * (dm_rank_result): a view of its shape, in C's type.  From GPU memory to host memory the types
   * must be alike. */
  dm_view (*part)(void *context, const dm_rank_state *local);
  void *context;

  /* ---- the sink's own ---- */
  struct {
    bool is_posted;
    int64_t tile, row;
    dm_event copied;
  } copies[DM_MEMORY_SINK_COPIES];
} dm_memory_sink;

extern const dm_sink_ops dm_sink_memory; /* of a dm_memory_sink */

#endif
