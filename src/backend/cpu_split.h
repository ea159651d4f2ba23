/* cpu_split: products of f32 and c64 whose operands are sums of two f16 (core/split.h), on the CPU:
 * the GPU's arithmetic step by step, not fast. */
#ifndef DM_BACKEND_CPU_SPLIT_H
#define DM_BACKEND_CPU_SPLIT_H

#include "backend/cpu_blas.h"

typedef struct dm_cpu_split dm_cpu_split;

dm_status dm_cpu_split_new(dm_cpu_split **split);
void dm_cpu_split_free(dm_cpu_split *split); /* NULL is allowed */

/* Largest piece of products of WORK that are cut at multiples of TILE (0: not cut). */
dm_cpu_box dm_cpu_split_box(int64_t tile, dm_dtype work);

/* For such a piece: C (+)= A B, col_stride 1, synchronous; a.cols may be 0. */
void dm_cpu_split_product(dm_cpu_split *split, dm_view c, dm_view a, dm_view b, bool accumulate);

/* Rows and columns of slices of k multiplied natively so far; 0 for NULL. */
int64_t dm_cpu_split_natively(const dm_cpu_split *split);

#endif
