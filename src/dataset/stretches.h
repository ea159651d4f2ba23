/* stretches: the indices that a part or a mapping takes along one side of a matrix, in order, as
 * runs of equal steps. */
#ifndef DM_DATASET_STRETCHES_H
#define DM_DATASET_STRETCHES_H

#include "core/status.h"
#include "dataset/composite.h"

typedef struct dm_run_of_line {
  dm_line line;
  int64_t count;
} dm_run_of_line;

typedef struct dm_stretches {
  dm_run_of_line *list; /* the caller frees it */
  int64_t count;
} dm_stretches;

/* A single index, 0: what dm_stretches_before begins with. */
dm_status dm_stretches_one(dm_stretches *all);

/* Makes INNER, indices of some axes of SIZE elements in all, those of OUTER's axis and them. */
dm_status dm_stretches_before(const dm_stretches *outer, int64_t size, dm_stretches *inner);

int64_t dm_stretches_total(const dm_stretches *all);

/* Adds to MADE what WHOLE has on ROWS and COLS, at the rows TO_ROWS and columns TO_COLS of the
 * composite: as many. NULL: 0, 1, ... */
dm_status dm_stretches_compose(const dm_dataset *whole, const dm_stretches *to_rows,
                               const dm_stretches *to_cols, const dm_stretches *rows,
                               const dm_stretches *cols, dm_composer *made);

#endif
