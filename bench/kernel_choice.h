/* kernel_choice: the selection of `bench kernels`: kernels of the registry, types and sizes, as
 * plain data. */
#ifndef DM_BENCH_KERNEL_CHOICE_H
#define DM_BENCH_KERNEL_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "kernels/registry.h"

enum { DM_KERNEL_SIZES = 256 };

typedef struct dm_kernel_size {
  int64_t m, n, k; /* helpers use m x n matrices */
} dm_kernel_size;

typedef struct dm_kernel_sizes {
  int64_t count;
  dm_kernel_size list[DM_KERNEL_SIZES];
} dm_kernel_sizes;

/* Parses TEXT, a list of items separated by ';': N (m = n = k), M,N,K, LOW:HIGH:STEP, or
 * LOW:HIGH:xF, which multiplies by F each step. A TEXT that ends with ".csv" names a file with a
 * line M,N,K for each size; empty lines, lines that start with '#', and a first line of words are
 * skipped. */
dm_status dm_kernel_sizes_parse(const char *text, dm_kernel_sizes *sizes);

enum { DM_KERNEL_TYPES = 9 };

/* Operand types of kernels, in the order of tables. */
extern const dm_operand dm_kernel_types[DM_KERNEL_TYPES];

/* Writes the types of a set, such as "f32 tf32"; returns TEXT. */
char *dm_kernel_types_text(unsigned types, char text[64]);

/* Parses TEXT, types separated by ',', into a set; "all": every type. */
dm_status dm_kernel_types_parse(const char *text, unsigned *types);

const char *dm_kernel_op_name(dm_kernel_op op);

/* Name of the baseline for kernels of OP: "cublas", "cublas, B along k", "copy", "read". */
const char *dm_kernel_yardstick(dm_kernel_op op, bool along_k);

/* Sets CHOSEN, by dm_kernel_id: kernels whose name matches one of the patterns of TEXT (as for file
 * names, separated by ','), with operation OP (DM_KERNEL_OPS: any) and one of TYPES. DM_E_USAGE: a
 * name or pattern matches no such kernel. */
dm_status dm_kernels_choose(const char *text, dm_kernel_op op, unsigned types,
                            bool chosen[DM_KERNEL_COUNT]);

#endif
