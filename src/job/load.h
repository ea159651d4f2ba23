/* load: a rank's shares of A and B, from their files. */
#ifndef DM_JOB_LOAD_H
#define DM_JOB_LOAD_H

#include "io/read_ahead.h"
#include "job/task.h"

typedef struct dm_source {
  dm_reader *reader;
  dm_read_ahead *ahead; /* that READER leans on, or NULL */
  dm_op op;
  double largest; /* magnitude seen, of i8 inputs: the sum of their products must fit i32 */
} dm_source;

/* Reads the share of MATRIX, op applied, converted to the work type. */
dm_status dm_load_share(dm_task *task, dm_matrix matrix, dm_source *source);

#endif
