#include "plan/memory_need.h"

#include "plan/saturating.h"

dm_memory_need dm_buffers_need(const dm_buffers *list) {
  dm_memory_need need = {0};
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_buffer *buffer = &list->of[kind];
    if (buffer->where == DM_NOWHERE) continue;
    const dm_space space = dm_where_space(buffer->where);
    int64_t *part = &need.part[space][dm_buffer_kinds[kind].part];
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
