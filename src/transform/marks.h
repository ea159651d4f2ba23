/* marks: the terms of a product's sums, rows or columns of a factor, of which a value is missing.
 */
#ifndef DM_TRANSFORM_MARKS_H
#define DM_TRANSFORM_MARKS_H

#include "core/crew.h"
#include "core/view.h"
#include "dataset/dataset.h"
#include "run/run.h"

typedef struct dm_marking {
  bool by_rows;   /* terms are rows of the matrix; else columns */
  int64_t *marks; /* of each term of the whole matrix: becomes 1 if a value is missing */
  dm_crew *crew;
} dm_marking;

/* Marks the terms of PART, in host memory, whose first element is (row, col), that have a NaN: a
 * dm_part_taker, whose context is a dm_marking. */
dm_status dm_mark_missing(void *marking, dm_view part, int64_t row, int64_t col);

/* The same for this rank's rows of SET, which are read as elements of WORK. */
dm_status dm_mark_missing_file(dm_run *run, const dm_dataset *set, dm_dtype work, int io_threads,
                               dm_marking *marking);

#endif
