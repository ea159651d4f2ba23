/* memory_need: what a plan takes of the memory of the rank that needs most: its buffers
 * (plan/buffers.h), added up by what people tell apart. */
#ifndef DM_PLAN_MEMORY_NEED_H
#define DM_PLAN_MEMORY_NEED_H

#include "plan/buffers.h"

typedef enum dm_memory_part {
  DM_MEMORY_A,       /* share of A */
  DM_MEMORY_B,       /* share of B */
  DM_MEMORY_RING_A,  /* slots for panels of A */
  DM_MEMORY_RING_B,  /* slots for panels of B */
  DM_MEMORY_C,       /* block of C, in the accumulator's type */
  DM_MEMORY_REDUCE,  /* partial blocks of the other layers, and their sum */
  DM_MEMORY_STAGING, /* pieces on their way from and to files and the device */
  DM_MEMORY_CONVERT, /* inputs of the product in another type or order */
  DM_MEMORY_VERIFY,  /* vectors */
  DM_MEMORY_LIBRARY, /* of a job with files: the process itself; workspace of what multiplies */
  DM_MEMORY_PARTS,
} dm_memory_part;

/* Bytes.  Sizes that have no 64-bit value stand as INT64_MAX, which fits nowhere. */
typedef struct dm_memory_need {
  int64_t part[2][DM_MEMORY_PARTS]; /* [DM_HOST], [DM_DEVICE] */
  int64_t total[2];
} dm_memory_need;

/* Of the rank at (0, 0, 0), whose block and layer are the largest. */
dm_memory_need dm_plan_memory(const dm_plan *plan);

dm_memory_need dm_buffers_need(const dm_buffers *list);

/* "share of A", ... */
const char *dm_memory_part_name(dm_memory_part part);

#endif
