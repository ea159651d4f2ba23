/* memory_need: memory of the rank that needs most, summed from its buffers (plan/buffers.h) by
 * purpose. */
#ifndef DM_PLAN_MEMORY_NEED_H
#define DM_PLAN_MEMORY_NEED_H

#include "plan/buffers.h"

/* Bytes. Sizes beyond 64 bits are INT64_MAX, which fits nowhere. */
typedef struct dm_memory_need {
  int64_t part[2][DM_MEMORY_PARTS]; /* [DM_HOST], [DM_DEVICE] */
  int64_t total[2];
} dm_memory_need;

/* The need of the rank at (0, 0, 0), whose block and layer are the largest. */
dm_memory_need dm_plan_memory(const dm_plan *plan);

dm_memory_need dm_buffers_need(const dm_buffers *list);

/* "share of A", ... */
const char *dm_memory_part_name(dm_memory_part part);

#endif
