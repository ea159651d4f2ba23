/* entries: the operands of a batch of products, by the rules of NumPy's matmul.
 *
 * The leading dimensions of A and B are equal, or 1, or absent; C has the larger ones. Entry e of C
 * is the product of entry e of A and of B. */
#ifndef DM_DATASET_ENTRIES_H
#define DM_DATASET_ENTRIES_H

#include "dataset/dataset.h"

/* Arranges A and B, transposed if TURNED, such that op(A) and op(B) have their entries in C's
 * order, one below the other, and sets their BATCH; fills in LEADS, those of C. A single op(B)
 * multiplies all op(A)s as one matrix. What is repeated or transposed becomes a composite.
 * DM_E_INPUT: the leading dimensions do not fit together. */
dm_status dm_entries_arrange(dm_dataset *a, bool a_turned, dm_dataset *b, bool b_turned,
                             dm_leads *leads);

#endif
