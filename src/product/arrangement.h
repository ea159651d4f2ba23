/* arrangement: where op(A), op(B) and C of several ranks' GPUs are multiplied. A matrix stays in
 * the caller's memory if the product can use its division (product/travel.h); the others are moved
 * to rows of the workspace, evenly divided, and C back from there. Of the possible choices the one
 * that moves the fewest bytes is taken. */
#ifndef DM_PRODUCT_ARRANGEMENT_H
#define DM_PRODUCT_ARRANGEMENT_H

#include "product/relocate.h"
#include "product/travel.h"

typedef struct dm_arrangement {
  const dm_distributed *given; /* op(A), op(B), C, as the caller has them */
  dm_distributed used[3];      /* as they are multiplied: */
  bool moved[3];               /* not where they are given */
  dm_relocation in[3], out;    /* OUT: of C */
  int64_t area;                /* of the workspace, through which matrices move */
  dm_travel travel;
} dm_arrangement;

/* Collective; GIVEN and SPACE must outlive it. WHOLE: scalars and conjugations; READS_C: the old C
 * is needed. Not *fits: the matrices cannot be brought to such a product, for lack of memory, of a
 * transport between GPUs or of contiguous lines. Close also frees what a failed open left. */
dm_status dm_arrangement_open(dm_workspace *space, const dm_run *run, dm_backend *backend,
                              const char *transport, const dm_distributed given[3],
                              const dm_whole_product *whole, bool reads_c, dm_arrangement *a,
                              bool *fits);
void dm_arrangement_close(dm_arrangement *arrangement);

/* GIVEN has moved to other memory, ordered and aligned as before; WHOLE has other scalars. Sets the
 * matrices of WHOLE. */
void dm_arrangement_renew(dm_arrangement *arrangement, dm_whole_product *whole);

/* Collective: bring A and B, and the old C; deliver C. */
dm_status dm_arrangement_bring(dm_arrangement *arrangement, bool reads_c);
dm_status dm_arrangement_deliver(dm_arrangement *arrangement);

#endif
