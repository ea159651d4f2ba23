/* kernel_choice: which kernels of the registry, in which types and sizes: what `bench kernels` is
 * asked for, as plain data. */
#ifndef DM_MEASURE_KERNEL_CHOICE_H
#define DM_MEASURE_KERNEL_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "kernels/registry.h"

enum { DM_KERNEL_SIZES = 256 };

typedef struct dm_kernel_size {
  int64_t m, n, k; /* helpers use matrices of m x n */
} dm_kernel_size;

typedef struct dm_kernel_sizes {
  int64_t count;
  dm_kernel_size list[DM_KERNEL_SIZES];
} dm_kernel_sizes;

/* TEXT is a list of items, ';' between them: N (m = n = k), M,N,K, LOW:HIGH:STEP, or LOW:HIGH:xF,
 * which goes up by the factor F.  A text that ends with ".csv" names a file with a line M,N,K for
 * each size; empty lines, those that begin with '#', and a first line of words are skipped. */
dm_status dm_kernel_sizes_parse(const char *text, dm_kernel_sizes *sizes);

enum { DM_KERNEL_TYPES = 9 };

/* What kernels take, in the order of tables. */
extern const dm_operand dm_kernel_types[DM_KERNEL_TYPES];

/* "f32 tf32", ... of a set; returns TEXT. */
char *dm_kernel_types_text(unsigned types, char text[64]);

/* The set of types that TEXT lists, ',' between them; "all" is every one. */
dm_status dm_kernel_types_parse(const char *text, unsigned *types);

const char *dm_kernel_op_name(dm_kernel_op op);

/* What kernels of OP are compared with: "cublas", "cublas, B along k", "copy", "read". */
const char *dm_kernel_yardstick(dm_kernel_op op, bool along_k);

/* CHOSEN, by dm_kernel_id: those whose name matches one of the patterns of TEXT (as of file names,
 * ',' between them), of operation OP (DM_KERNEL_OPS: any), that take one of TYPES.  A name or
 * pattern without any such kernel is DM_E_USAGE. */
dm_status dm_kernels_choose(const char *text, dm_kernel_op op, unsigned types,
                            bool chosen[DM_KERNEL_COUNT]);

#endif
