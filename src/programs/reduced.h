/* reduced: products of which only a reduction is kept (reduce/reduction.h), and distances
 * (distances.h), which may be stored whole.
 *
 * C is computed in tiles, each an ordinary product of parts of A and B with C in memory, verified
 * before the reducer sees it. Of a symmetric C the tiles of one half serve their rows and their
 * columns. Every rank reduces its rows of each tile; rank 0 joins the results, and writes them. */
#ifndef DM_PROGRAMS_REDUCED_H
#define DM_PROGRAMS_REDUCED_H

#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

/* Whether MULTIPLY is such a job; others are for dm_multiply_run. */
static inline bool dm_is_reduced(const dm_multiply *multiply) {
  return multiply->kept.count > 0 || multiply->equation.distance.kind != DM_NO_DISTANCE;
}

/* A result in memory, on rank 0. */
typedef struct dm_reduced_kept {
  dm_reducer *reducer[DM_REDUCTIONS]; /* they own the arrays; NULL: there is no result */
  struct {
    dm_array array;
    const char *of; /* what was kept: "top", ... */
  } arrays[DM_REDUCTIONS * DM_REDUCED_ARRAYS];
  int count;
} dm_reduced_kept;

void dm_reduced_kept_free(dm_reduced_kept *kept);

/* Collective; as dm_multiply_run. A and B are in files, or in host memory that all ranks see. The
 * result becomes the file MULTIPLY->out, or KEPT, which was empty and is the caller's to free, also
 * after DM_E_UNCHECKED. */
dm_status dm_reduced_run(dm_run *run, const dm_multiply *multiply, dm_reduced_kept *kept,
                         dm_record *record);

/* Collective: only records the tiles, the memory for them and for what is kept, the size of the
 * result and the operations. DM_E_FIT: what is kept does not fit. */
dm_status dm_reduced_plan(dm_run *run, const dm_multiply *multiply, dm_record *record);

#endif
