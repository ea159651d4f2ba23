#include "plan/memory_need.h"

#include "plan/saturating.h"

static const dm_memory_part part_of[DM_BUFFERS] = {
    [DM_BUFFER_SHARE_A] = DM_MEMORY_A,
    [DM_BUFFER_SHARE_B] = DM_MEMORY_B,
    [DM_BUFFER_HOST_RING_A] = DM_MEMORY_RING_A,
    [DM_BUFFER_HOST_RING_B] = DM_MEMORY_RING_B,
    [DM_BUFFER_DEVICE_RING_A] = DM_MEMORY_RING_A,
    [DM_BUFFER_DEVICE_RING_B] = DM_MEMORY_RING_B,
    [DM_BUFFER_SHARED_A] = DM_MEMORY_A,
    [DM_BUFFER_SHARED_B] = DM_MEMORY_B,
    [DM_BUFFER_BLOCKS] = DM_MEMORY_C,
    [DM_BUFFER_SUM] = DM_MEMORY_REDUCE,
    [DM_BUFFER_PIECES] = DM_MEMORY_REDUCE,
    [DM_BUFFER_RECEIVED] = DM_MEMORY_REDUCE,
    [DM_BUFFER_BLOCK_COPY] = DM_MEMORY_REDUCE,
    [DM_BUFFER_UPLOAD] = DM_MEMORY_STAGING,
    [DM_BUFFER_LANDING] = DM_MEMORY_STAGING,
    [DM_BUFFER_FINISHED] = DM_MEMORY_STAGING,
    [DM_BUFFER_OLD] = DM_MEMORY_STAGING,
    [DM_BUFFER_READ_A] = DM_MEMORY_STAGING,
    [DM_BUFFER_READ_B] = DM_MEMORY_STAGING,
    [DM_BUFFER_READ_OLD] = DM_MEMORY_STAGING,
    [DM_BUFFER_HOME_A] = DM_MEMORY_STAGING,
    [DM_BUFFER_HOME_B] = DM_MEMORY_STAGING,
    [DM_BUFFER_HOME_C] = DM_MEMORY_STAGING,
    [DM_BUFFER_ROUNDED] = DM_MEMORY_C,
    [DM_BUFFER_CONVERTED] = DM_MEMORY_CONVERT,
    [DM_BUFFER_VECTORS] = DM_MEMORY_VERIFY,
    [DM_BUFFER_DEVICE_VECTORS] = DM_MEMORY_VERIFY,
    [DM_BUFFER_SAMPLE] = DM_MEMORY_VERIFY,
    [DM_BUFFER_PROCESS] = DM_MEMORY_LIBRARY,
    [DM_BUFFER_WORKSPACE] = DM_MEMORY_LIBRARY,
};

dm_memory_need dm_buffers_need(const dm_buffers *list) {
  dm_memory_need need = {0};
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_buffer *buffer = &list->of[kind];
    if (buffer->where == DM_NOWHERE) continue;
    const dm_space space = dm_where_space(buffer->where);
    int64_t *part = &need.part[space][part_of[kind]];
    *part = dm_plus(*part, buffer->counted);
    need.total[space] = dm_plus(need.total[space], buffer->counted);
  }
  return need;
}

dm_memory_need dm_plan_memory(const dm_plan *plan) {
  dm_buffers list;
  dm_plan_buffers(plan, (dm_coords){0}, &list);
  return dm_buffers_need(&list);
}

const char *dm_memory_part_name(dm_memory_part part) {
  static const char *const names[DM_MEMORY_PARTS] = {
      [DM_MEMORY_A] = "share of A",        [DM_MEMORY_B] = "share of B",
      [DM_MEMORY_RING_A] = "panels of A",  [DM_MEMORY_RING_B] = "panels of B",
      [DM_MEMORY_C] = "block of C",        [DM_MEMORY_REDUCE] = "sum over layers",
      [DM_MEMORY_STAGING] = "staging",     [DM_MEMORY_CONVERT] = "converted inputs",
      [DM_MEMORY_VERIFY] = "verification", [DM_MEMORY_LIBRARY] = "program, libraries"};
  return part < DM_MEMORY_PARTS ? names[part] : "none";
}
