/* checkpoint_fields: what must be the same for a run to go on where another stopped. */
#ifndef DM_JOB_CHECKPOINT_FIELDS_H
#define DM_JOB_CHECKPOINT_FIELDS_H

#include "engine/setup.h"
#include "job/multiply.h"

/* The problem, the equation and the inputs (size, time, a sample of the bytes): known before
 * planning.  Reads the inputs' files. */
dm_status dm_fields_of_problem(const dm_multiply *multiply, const dm_problem *problem,
                               dm_attributes *fields);

/* What computes: backend and kernel; with --reproducible also the device, whose bits were promised.
 */
dm_status dm_fields_of_setup(const dm_multiply *multiply, const dm_setup *setup,
                             dm_attributes *fields);

/* The name of the first of WANTED that RECORDED does not have, or has otherwise; NULL: none.  With
 * IN_PLACE what is told of the old C does not count: it was replaced. */
const char *dm_fields_differ(const dm_attributes *recorded, const dm_attributes *wanted,
                             bool in_place);

/* The number that RECORDED has as NAME; -1 where it has none. */
int64_t dm_fields_number(const dm_attributes *recorded, const char *name);

#endif
