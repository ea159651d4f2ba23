#include "engine/rank_memory.h"

#include <stdlib.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "file/file_queue.h"
#include "transport/transport.h"

_Static_assert((int)DM_BUFFER_READ_BYTES == (int)DM_READ_MEMORY, "what readers take is counted");
_Static_assert((int)DM_BUFFER_WIDENED_BYTES == (int)DM_CPU_SCRATCH,
               "what the CPU converts is counted");
_Static_assert((int)DM_BUFFER_SLAB_BYTES == (int)DM_SLAB,
               "what peers read is allocated in whole slabs");

dm_status dm_rank_memory_take(dm_rank_memory *memory, dm_buffer_kind kind, void **at) {
  const dm_buffer *buffer = &memory->list.of[kind];
  const dm_life life = dm_buffer_life(kind);
  if (buffer->where == DM_NOWHERE || buffer->where == DM_SHARED_MEMORY || life == DM_LIFE_BESIDE)
    return dm_fail(DM_E_BUG, "the plan has no buffer for the %s", dm_buffer_kinds[kind].name);
  if (buffer->bytes == INT64_MAX)
    return dm_fail(DM_E_FIT, "the size of the %s overflows 64 bits", dm_buffer_kinds[kind].name);
  if (!memory->at[kind]) {
    void **new = &memory->at[kind];
    DM_TRY(
        buffer->where == DM_PAGEABLE
            ? dm_buffer_alloc(buffer->bytes, new)
            : dm_backend_alloc(memory->backend, dm_where_space(buffer->where), buffer->bytes, new));
  }
  *at = memory->at[kind];
  return DM_OK;
}

static dm_status too_small(const dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes) {
  return dm_fail(DM_E_BUG, "the plan has %lld bytes for the %s, which takes %lld",
                 (long long)memory->list.of[kind].bytes, dm_buffer_kinds[kind].name,
                 (long long)bytes);
}

dm_status dm_rank_memory_take_bytes(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes,
                                    void **at) {
  if (bytes > memory->list.of[kind].bytes) return too_small(memory, kind, bytes);
  return dm_rank_memory_take(memory, kind, at);
}

dm_status dm_rank_memory_count(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes) {
  memory->beside[kind] += bytes;
  return memory->beside[kind] > memory->list.of[kind].bytes
             ? too_small(memory, kind, memory->beside[kind])
             : DM_OK;
}

dm_status dm_rank_memory_open(const dm_plan *plan, dm_coords at, dm_backend *backend,
                              dm_rank_memory *memory) {
  *memory = (dm_rank_memory){.backend = backend};
  dm_plan_buffers(plan, at, &memory->list);
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_where where = memory->list.of[kind].where;
    void *taken;
    if (dm_buffer_life((dm_buffer_kind)kind) != DM_LIFE_RANK || where == DM_NOWHERE ||
        where == DM_SHARED_MEMORY) /* which the transport opens */
      continue;
    DM_TRY(dm_rank_memory_take(memory, (dm_buffer_kind)kind, &taken));
  }
  return DM_OK;
}

void dm_rank_memory_close(dm_rank_memory *memory) {
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_where where = memory->list.of[kind].where;
    if (where == DM_PAGEABLE)
      free(memory->at[kind]);
    else if (where != DM_SHARED_MEMORY)
      dm_backend_release(memory->backend, dm_where_space(where), memory->at[kind]);
    memory->at[kind] = NULL;
  }
}
