/* memory_operands: A and B in the ranks' memory, on hosts or GPUs, as the caller divided them:
 * moves them to the plan's places before the first product. */
#ifndef DM_PRODUCT_MEMORY_OPERANDS_H
#define DM_PRODUCT_MEMORY_OPERANDS_H

#include "engine/memory_source.h"
#include "product/distributed.h"
#include "run/run.h"

typedef struct dm_memory_operands {
  const dm_run *run;
  const dm_distributed *matrix[2]; /* op(A), op(B); NULL: not in memory */
  bool conjugate[2];
  dm_memory_source source; /* for dm_source_memory */
} dm_memory_operands;

/* MATRIX, the backend's memory included, must outlive OPERANDS. */
void dm_memory_operands_open(const dm_run *run, const dm_distributed *const matrix[2],
                             const bool conjugate[2], dm_memory_operands *operands);

/* Collective, when LOCAL's buffers exist: moves all that its tiles need. What one rank's GPU has as
 * the product needs it is copied from there while products run. */
dm_status dm_memory_operands_bring(dm_memory_operands *operands, dm_rank_state *local);

#endif
