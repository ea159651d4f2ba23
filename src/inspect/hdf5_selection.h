/* hdf5_selection: the elements that a mapping of a virtual dataset selects, as blocks or as runs of
 * rows. */
#ifndef DM_INSPECT_HDF5_SELECTION_H
#define DM_INSPECT_HDF5_SELECTION_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "dataset/dataset.h"

/* COUNT blocks of BLOCK indices, STRIDE apart, of each axis. */
typedef struct dm_slab {
  int rank;
  bool all; /* of the source, whose shape may not be known */
  int64_t extent[DM_AXES];
  int64_t start[DM_AXES], stride[DM_AXES], count[DM_AXES], block[DM_AXES];
} dm_slab;

/* Fills in start, stride, count and block of SLAB, whose rank is set, from SPACE, a regular
 * hyperslab of the virtual dataset OF. DM_E_INPUT: it has no end, or is damaged. */
dm_status dm_slab_regular(const dm_location *of, hid_t space, dm_slab *slab);

/* DM_E_INPUT: the mappings of OF cannot be read. */
dm_status dm_mappings_unreadable(const dm_location *of);

/* Neighbouring elements of a row. */
typedef struct dm_row_run {
  int64_t row, col, length;
} dm_row_run;

/* A selection of one or two dimensions; one dimension is a row. */
typedef struct dm_selection {
  int rank;
  bool all;
  int64_t extent[2];
  int64_t start[2], stride[2], count[2], block[2]; /* if no RUNS */
  dm_row_run *runs;                                /* of an irregular one; the caller's to free */
  int64_t run_count;
} dm_selection;

/* Reads what SPACE selects, for the virtual dataset OF. WHOSE: "", or the start of a sentence about
 * a source. DM_E_INPUT: not of a matrix, single points, without an end, or damaged. */
dm_status dm_selection_read(const dm_location *of, hid_t space, const char *whose,
                            dm_selection *selection);

/* Lists the runs of a regular selection. */
dm_status dm_selection_list(const dm_location *of, dm_selection *selection);

bool dm_selection_is_block(const dm_selection *selection);

/* Whether all elements are in one column. */
bool dm_selection_is_column(const dm_selection *selection);

#endif
