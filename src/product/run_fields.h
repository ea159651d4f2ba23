/* run_fields: what must be equal for a run to resume another. (checkpoint_resume.c) */
#ifndef DM_PRODUCT_RUN_FIELDS_H
#define DM_PRODUCT_RUN_FIELDS_H

#include "dataset/dataset.h"
#include "engine/setup.h"
#include "product/description.h"

/* The problem, the equation and the inputs (size, time, a sample of the bytes); known before
 * planning. Reads the input files. */
dm_status dm_fields_of_problem(const dm_multiply *multiply, const dm_problem *problem,
                               dm_attributes *fields);

/* Backend and kernel; with --reproducible also the device, on which the bits depend. */
dm_status dm_fields_of_setup(const dm_multiply *multiply, const dm_setup *setup,
                             dm_attributes *fields);

/* The name of the first field of WANTED that RECORDED lacks or has with another value; NULL: none.
 * IN_PLACE ignores the fields of the old C, which was replaced. */
const char *dm_fields_differ(const dm_attributes *recorded, const dm_attributes *wanted,
                             bool in_place);

/* The number in field NAME of RECORDED; -1: none. */
int64_t dm_fields_number(const dm_attributes *recorded, const char *name);

#endif
