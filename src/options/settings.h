/* settings: what the options of a product state, as plain data, so that rank 0 can send its own to
 * all ranks: the environment may differ between nodes. */
#ifndef DM_OPTIONS_SETTINGS_H
#define DM_OPTIONS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "file/dataset.h"
#include "plan/problem.h"

enum { DM_VALUES = 96, DM_VALUE_TEXT = 256, DM_VALUE_LIST = 2048 };

/* Lines, and whose numbers to take; none are named: their means or deviations. */
typedef struct dm_lines_choice {
  int lines; /* dm_lines */
  dm_location by;
} dm_lines_choice;

/* Choices are indices into the option's list, which has the order of the corresponding enum. */
typedef struct dm_settings {
  bool given[DM_VALUES]; /* by the user; index in dm_values */
  /* equation and types */
  int op_a, op_b, type, type_c, compute;
  double alpha[2], beta[2];
  bool rounding, reproducible;
  bool gram; /* stated by the verb or the call: B is A, transposed and conjugated, or A is */
  bool covariance, correlation;        /* the same, of centered, and scaled, lines */
  dm_lines_choice center[2], scale[2]; /* of A and B */
  dm_location weights;                 /* of the terms of each sum */
  int weights_are;
  bool center_x, scale_x; /* the same for the one matrix of gram */
  int divide, half;
  dm_location old_c;
  /* what is accepted, and how it is read */
  bool external, virtual, filters, no_data, raw, swmr, as_column, as_row;
  int missing, stack;
  char missing_value[DM_MISSING_TEXT];
  int64_t row_axes[2]; /* of A and B */
  int64_t batch;       /* entries of A, B and C in memory, or of a plan without files */
  /* the file of C */
  dm_location output;
  bool force, append, shuffle;
  int64_t chunk[2], deflate, zstd;
  /* computation */
  char kernel[DM_VALUE_TEXT], machine[DM_VALUE_LIST];
  int backend, transport, read_by, write_by;
  int64_t panel[1 + DM_RAMP]; /* width of most panels, and of the first ones */
  int64_t memory[2];          /* host, device */
  int64_t grid[3];
  int64_t threads, io_threads, pretend_nodes;
  bool overlap, require_gpu_per_rank;
  double hang_timeout; /* seconds; 0: none */
  /* verification and checkpoints */
  bool verify, verify_files, protect, allow_unchecked, full, checkpoint;
  int verify_written, on_corruption;
  uint64_t verify_seed;
  double checkpoint_interval; /* seconds */
} dm_settings;

#endif
