/* layout_choice: where op(A), op(B) and C of several ranks' GPUs are multiplied. A matrix stays in
 * the caller's memory if the product can use its division (layout/broadcast.h); the others are
 * moved to rows of the workspace, evenly divided, and C back from there. Of the possible choices
 * the one that moves the fewest bytes is taken. */
#ifndef DM_LAYOUT_LAYOUT_CHOICE_H
#define DM_LAYOUT_LAYOUT_CHOICE_H

#include "layout/broadcast.h"
#include "layout/distributed.h"
#include "layout/relocation.h"

typedef struct dm_layout_choice {
  /* Stated by the caller; these outlive it. */
  dm_workspace *space;
  const dm_run *run;
  dm_backend *backend;
  const char *transport;
  const dm_distributed *callers; /* op(A), op(B), C, as the caller has them */
  /* The others are set when it is opened. */
  dm_distributed used[3];   /* as they are multiplied: */
  bool moved[3];            /* not where the caller has them */
  dm_relocation in[3], out; /* OUT: of C */
  int64_t area;             /* of the workspace, through which matrices move */
  dm_broadcast broadcast;
} dm_layout_choice;

/* Collective. WHOLE: scalars and conjugations; READS_C: the old C is needed. Not *fits: the
 * matrices cannot be brought to such a product, for lack of memory, of a transport between GPUs or
 * of contiguous lines. Close also frees what a failed open left. */
dm_status dm_layout_choice_open(dm_layout_choice *choice, const dm_whole_product *whole,
                                bool reads_c, bool *fits);
void dm_layout_choice_close(dm_layout_choice *choice);

/* The CALLERS' matrices have moved to other memory, ordered and aligned as before; WHOLE has other
 * scalars. Sets the matrices of WHOLE. */
void dm_layout_choice_renew(dm_layout_choice *choice, dm_whole_product *whole);

/* Collective: bring A and B, and the old C; deliver C. */
dm_status dm_layout_choice_bring(dm_layout_choice *choice, bool reads_c);
dm_status dm_layout_choice_deliver(dm_layout_choice *choice);

#endif
