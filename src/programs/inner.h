/* inner: a product that is one of many inside of a larger job, which speaks and stops for all. */
#ifndef DM_PROGRAMS_INNER_H
#define DM_PROGRAMS_INNER_H

#include "product/description.h"
#include "run/run.h"

/* Collective, as dm_multiply_run, but without messages (unless the user wants details), progress
 * and record. *unchecked is set, and nothing failed, if not all of C could be verified. */
dm_status dm_inner_multiply(dm_run *run, const dm_multiply *multiply, bool *unchecked);

/* SET as the pipeline takes a matrix that is whole in host memory. */
dm_memory_matrix dm_inner_memory(const dm_dataset *set);

#endif
