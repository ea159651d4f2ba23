/* kernel_table: what `bench kernels` shows to people. */
#ifndef DM_CLI_KERNEL_TABLE_H
#define DM_CLI_KERNEL_TABLE_H

#include <stdio.h>

#include "measure/bench_kernels.h"

/* A row for RESULT; a title before it where it is of another operation, type or size than LAST,
 * which is NULL at first. */
void dm_cli_print_kernel(const dm_kernel_result *result, const dm_kernel_result *last, FILE *out);

/* What the registry says of the kernels CHOSEN. */
void dm_cli_print_kernel_list(const bool chosen[DM_KERNEL_COUNT], FILE *out);

#endif
