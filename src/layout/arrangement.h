/* arrangement: where op(A), op(B) and C of several ranks' GPUs are multiplied. A matrix stays in
 * the caller's memory if the product can use its division (layout/travel.h); the others are moved
 * to rows of the workspace, evenly divided, and C back from there. Of the possible choices the one
 * that moves the fewest bytes is taken. */
#ifndef DM_LAYOUT_ARRANGEMENT_H
#define DM_LAYOUT_ARRANGEMENT_H

#include "layout/distributed.h"
#include "layout/exchange.h"
#include "layout/travel.h"

/* ---- moves a matrix from one division over the ranks to another, from GPU to GPU through the
 * ranks' workspaces, in rounds that bound the memory ----
 *
 * At one end ranks may have their parts in host memory.
 *
 * What one rank gives another is the product of a set of rows and a set of columns. In each
 * round every rank gives each other one some rows of that, as a dense matrix. */

/* One move. */
typedef struct dm_relocation {
  const dm_run *run;
  dm_workspace *space; /* of the last run */
  const dm_distributed *from, *to;
  bool by_columns;        /* messages have contiguous columns, and all is transposed: */
  dm_distribution of[2];  /* of FROM and TO, without memory of their own */
  dm_segments rows, cols; /* of these */
  int64_t *down, *across; /* rows and columns that rank g gives rank t, at g * ranks + t */
  dm_copy_run *row_list, *col_list;
  dm_rounds rounds;
} dm_relocation;

/* Plans the move of all elements. The lines of both ends are contiguous, or (BY_COLUMNS) their
 * columns. FROM and TO must outlive the relocation; their memory may move. PER_ROUND: approximate
 * bytes that a rank gives in a round; 0: a good number. Close also frees what a failed open left.
 */
dm_status dm_relocation_open(const dm_run *run, const dm_distributed *from,
                             const dm_distributed *to, bool by_columns, int64_t per_round,
                             dm_relocation *relocation);
void dm_relocation_close(dm_relocation *relocation);

/* Collective, with the same outcome on all ranks: moves through BYTES of SPACE from byte AT. */
dm_status dm_relocation_run(dm_relocation *relocation, dm_workspace *space, int64_t at);

typedef struct dm_arrangement {
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
  dm_travel travel;
} dm_arrangement;

/* Collective. WHOLE: scalars and conjugations; READS_C: the old C is needed. Not *fits: the
 * matrices cannot be brought to such a product, for lack of memory, of a transport between GPUs or
 * of contiguous lines. Close also frees what a failed open left. */
dm_status dm_arrangement_open(dm_arrangement *arrangement, const dm_whole_product *whole,
                              bool reads_c, bool *fits);
void dm_arrangement_close(dm_arrangement *arrangement);

/* The CALLERS' matrices have moved to other memory, ordered and aligned as before; WHOLE has other
 * scalars. Sets the matrices of WHOLE. */
void dm_arrangement_renew(dm_arrangement *arrangement, dm_whole_product *whole);

/* Collective: bring A and B, and the old C; deliver C. */
dm_status dm_arrangement_bring(dm_arrangement *arrangement, bool reads_c);
dm_status dm_arrangement_deliver(dm_arrangement *arrangement);

#endif
