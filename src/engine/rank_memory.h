/* rank_memory: the memory of a rank, by the list of its plan's buffers (plan/buffers.h).  The
 * engine, and what brings A and B to it and takes C from it, take memory for matrices here and
 * nowhere else; what others take beside it is counted here.  What the list does not have cannot be
 * had. */
#ifndef DM_ENGINE_RANK_MEMORY_H
#define DM_ENGINE_RANK_MEMORY_H

#include "backend/backend.h"
#include "plan/buffers.h"

typedef struct dm_rank_memory {
  dm_backend *backend;
  dm_buffers list;
  void *at[DM_BUFFERS];       /* NULL: not taken */
  int64_t beside[DM_BUFFERS]; /* counted */
} dm_rank_memory;

/* Takes everything of the rank at AT that stays from its opening to its end. */
dm_status dm_rank_memory_open(const dm_plan *plan, dm_coords at, dm_backend *backend,
                              dm_rank_memory *memory);
void dm_rank_memory_close(dm_rank_memory *memory);

/* KIND as the list has it, or, from the second time on, the same again; it stays until close.
 * DM_E_BUG where the list has none. */
dm_status dm_rank_memory_take(dm_rank_memory *memory, dm_buffer_kind kind, void **at);

/* The same where BYTES of it are needed: DM_E_BUG where the list has less. */
dm_status dm_rank_memory_take_bytes(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes,
                                    void **at);

/* Counts BYTES that another part takes of KIND, which lies beside the rank's own memory, until
 * close.  DM_E_BUG where the list has less than all that was counted. */
dm_status dm_rank_memory_count(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes);

/* Where slot SLOT of KIND begins, which was taken. */
static inline char *dm_rank_memory_slot(const dm_rank_memory *memory, dm_buffer_kind kind,
                                        int64_t slot) {
  return (char *)memory->at[kind] + slot * memory->list.of[kind].slot;
}

#endif
