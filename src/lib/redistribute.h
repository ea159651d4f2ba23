/* redistribute: moves a matrix from one distribution over the ranks to another, in rounds of
 * messages, a few at a time in memory.
 *
 * What one rank sends another is the product of a set of rows and a set of columns, and travels as
 * a dense matrix. */
#ifndef DM_LIB_REDISTRIBUTE_H
#define DM_LIB_REDISTRIBUTE_H

#include "backend/backend.h"
#include "comm/comm.h"
#include "lib/distribution.h"

/* One end: AT is this rank's memory of the runs ROW and COL, which belong to it; host memory. */
typedef struct dm_end {
  const dm_distribution *of;
  dm_view (*at)(void *context, int64_t row, int64_t col);
  void *context;
  /* At one of the two ends ranks may have GPU memory instead: */
  bool on_gpus;         /* some do; all ranks say the same */
  dm_backend *backend;  /* this rank does; else NULL */
  const dm_view *local; /* all of it, by the local places of rows and columns; AT is not called */
} dm_end;

/* Puts what has ARRIVED, host memory, INTO its place. */
typedef struct dm_taker {
  dm_status (*take)(void *context, dm_view into, dm_view arrived);
  void *context;
} dm_taker;

typedef struct dm_move {
  dm_dtype dtype; /* of what travels */
  const dm_end *from, *to;
  dm_taker taker;    /* of the elements, at TO */
  bool looks;        /* it looks at what is INTO before */
  int64_t per_round; /* bytes that a rank sends, about; 0: as many as are good */
} dm_move;

/* Collective: all elements go from FROM to TO.  Errors are agreed, but for those of MPI. */
dm_status dm_redistribute(const dm_comm *comm, const dm_move *move);

#endif
