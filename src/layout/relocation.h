/* relocation: moves a matrix from one division over the ranks to another, from GPU to GPU through
 * the ranks' workspaces, in rounds that bound the memory.
 *
 * At one end ranks may have their parts in host memory.
 *
 * What one rank gives another is the product of a set of rows and a set of columns. In each
 * round every rank gives each other one some rows of that, as a dense matrix. */
#ifndef DM_LAYOUT_RELOCATION_H
#define DM_LAYOUT_RELOCATION_H

#include "layout/distributed.h"
#include "layout/exchange.h"

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
  dm_message_rounds rounds;
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

#endif
