/* emulated_split: products of f32 and c64 whose operands are sums of two f16 (core/split.h): the
 * GPU's arithmetic step by step, not fast. */
#ifndef DM_TESTS_EMULATED_SPLIT_H
#define DM_TESTS_EMULATED_SPLIT_H

#include "core/status.h"
#include "core/view.h"

typedef struct emulated_split emulated_split;

dm_status emulated_split_new(emulated_split **split);
void emulated_split_free(emulated_split *split); /* NULL is allowed */

/* C (+)= A B, col_stride 1, cut at multiples of TILE (0: not cut), synchronous; a.cols may be 0. */
void emulated_split_multiply(emulated_split *split, int64_t tile, dm_view c, dm_view a, dm_view b,
                             bool accumulate);

/* Rows and columns of slices of k multiplied natively so far; 0 for NULL. */
int64_t emulated_split_natively(const emulated_split *split);

#endif
