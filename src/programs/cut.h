/* cut: some rows, or columns, of a matrix in a file or in host memory, as a matrix of its own. */
#ifndef DM_PROGRAMS_CUT_H
#define DM_PROGRAMS_CUT_H

#include "core/centering.h"
#include "dataset/dataset.h"
#include "plan/partition.h"

/* A part of a matrix, and what its lines are centered by. It must not move. */
typedef struct dm_cut {
  dm_dataset dataset;
  dm_centering centering;
  bool made; /* it is to be freed */
} dm_cut;

/* The rows, or columns, RANGE of WHOLE, which must stay. Free it only after success. */
dm_status dm_cut_lines(const dm_dataset *whole, dm_lines lines, dm_range range, dm_cut *c);
void dm_cut_free(dm_cut *c);

#endif
