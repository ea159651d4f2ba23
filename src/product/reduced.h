/* reduced: products of which only a reduction is kept (reduce/reduction.h).
 *
 * C is computed in tiles, each an ordinary product of parts of A and B with C in memory, verified
 * before the reducer sees it. Of a symmetric C the tiles of one half serve their rows and their
 * columns. Every rank reduces its rows of each tile; rank 0 joins the results, and writes them. */
#ifndef DM_PRODUCT_REDUCED_H
#define DM_PRODUCT_REDUCED_H

#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

/* Whether MULTIPLY is such a job; others are for dm_multiply_run. */
static inline bool dm_is_reduced(const dm_multiply *multiply) {
  return multiply->reduction.kind != DM_REDUCE_NONE;
}

/* Collective; as dm_multiply_run. A and B are in files, and the result becomes one. */
dm_status dm_reduced_run(dm_run *run, const dm_multiply *multiply, dm_record *record);

#endif
