/* toys: a compute mode, a backend, a transport and a file format that only tests have, one file
 * each. Where a part has a list, the toy's file has one line more than the list of the program, in
 * whose place it is linked. */
#ifndef DM_TESTS_TOYS_H
#define DM_TESTS_TOYS_H

#include <stdio.h>

#include "core/compute.h"
#include "inspect/inspect_impl.h"
#include "inspect/npy.h"

extern const dm_compute toy_mode;
extern const dm_compute_calls toy_calls;

extern _Atomic int toy_gathers, toy_products; /* posted in this process */

void toy_file_write(FILE *file, int64_t rows, int64_t cols, const double *elements);

#endif
