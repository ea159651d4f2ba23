/* rank_memory: the memory of a rank, according to its plan's list of buffers (plan/buffers.h). The
 * engine, sources and sinks allocate memory for matrices only here; memory of other modules is
 * counted here. Nothing beyond the list can be allocated. */
#ifndef DM_ENGINE_RANK_MEMORY_H
#define DM_ENGINE_RANK_MEMORY_H

#include "backend/backend.h"
#include "plan/buffers.h"

typedef struct dm_rank_memory {
  dm_backend *backend;
  dm_buffers list;
  void *at[DM_BUFFERS];       /* NULL: not allocated */
  int64_t beside[DM_BUFFERS]; /* bytes counted */
} dm_rank_memory;

/* Allocates all buffers of the rank at AT that live from its opening to its end. */
dm_status dm_rank_memory_open(const dm_plan *plan, dm_coords at, dm_backend *backend,
                              dm_rank_memory *memory);
void dm_rank_memory_close(dm_rank_memory *memory);

/* Returns buffer KIND, allocated on the first call; it lives until close. DM_E_BUG: the list has
 * none. */
dm_status dm_rank_memory_take(dm_rank_memory *memory, dm_buffer_kind kind, void **at);

/* The same if BYTES of it are needed; DM_E_BUG: the list has less. */
dm_status dm_rank_memory_take_bytes(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes,
                                    void **at);

/* Counts BYTES that another module uses as KIND, besides the rank's own memory, until close.
 * DM_E_BUG: the list has less than the total counted. */
dm_status dm_rank_memory_count(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes);

/* The start of slot SLOT of KIND, which must be allocated. */
static inline char *dm_rank_memory_slot(const dm_rank_memory *memory, dm_buffer_kind kind,
                                        int64_t slot) {
  return (char *)memory->at[kind] + slot * memory->list.of[kind].slot;
}

#endif
