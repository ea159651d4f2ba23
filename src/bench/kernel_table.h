/* kernel_table: the table of `bench kernels`. */
#ifndef DM_BENCH_KERNEL_TABLE_H
#define DM_BENCH_KERNEL_TABLE_H

#include <stdio.h>

#include "bench/bench_kernels.h"

/* Prints a row for RESULT, after a title if its operation, type or size differs from LAST's. LAST
 * is NULL for the first. */
void dm_cli_print_kernel(const dm_kernel_result *result, const dm_kernel_result *last, FILE *out);

/* Lists the CHOSEN kernels of the registry. */
void dm_cli_print_kernel_list(const bool chosen[DM_KERNEL_COUNT], FILE *out);

#endif
