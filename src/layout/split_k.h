/* split_k: products of several ranks' GPUs that have the same parts of k of op(A) and of op(B).
 * Where C is small beside these, nothing of them travels: each rank multiplies its part, which
 * makes a sum of all of C, and the ranks exchange these sums. The sums of an element are added in
 * the order of ranks. */
#ifndef DM_LAYOUT_SPLIT_K_H
#define DM_LAYOUT_SPLIT_K_H

#include "layout/distribution.h"
#include "layout/exchange.h"

typedef struct dm_split_k {
  dm_extent *parts; /* of C, of each rank; NULL: the product is another */
  int ranks;
  dm_view sums;     /* of this rank, without memory */
  int64_t at, step; /* of the sums in the workspace; of those received of this rank's part of C */
  dm_message_rounds rounds;
} dm_split_k;

/* Whether the product of such divisions takes so much less traffic that all else is worth it.
 * SIZES: bytes of an element of A or B, and of a sum. */
bool dm_split_k_pays(const dm_distribution *a, const dm_distribution *b, const dm_distribution *c,
                     int ranks, const int64_t sizes[2]);

/* SUM: the type of sums. *bytes: of the workspace, from its start. Close also frees what a failed
 * open left. */
dm_status dm_split_k_open(const dm_distribution *c, int ranks, dm_dtype sum, dm_split_k *split,
                          int64_t *bytes);
void dm_split_k_close(dm_split_k *split);

/* What this rank multiplies: its parts of WHOLE, into the sums. */
dm_whole_product dm_split_k_product(const dm_split_k *split, const dm_workspace *space, int rank,
                                    const dm_whole_product *whole);

/* Collective, with the same outcome on all ranks, when this product is done: exchanges the sums,
 * and makes this rank's part of C of them. */
dm_status dm_split_k_complete(const dm_split_k *split, const dm_run *run, dm_workspace *space,
                              const dm_whole_product *whole);

#endif
