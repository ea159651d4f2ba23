/* redistribute: moves a matrix from one distribution over the ranks to another, in rounds of
 * messages, a few at a time in memory.
 *
 * What one rank sends another is the product of a set of rows and a set of columns, and travels as
 * a dense matrix. */
#ifndef DM_LIB_REDISTRIBUTE_H
#define DM_LIB_REDISTRIBUTE_H

#include "comm/comm.h"
#include "lib/distribution.h"

/* One end: AT is this rank's memory of the runs ROW and COL, which belong to it; host memory. */
typedef struct dm_end {
  const dm_distribution *of;
  dm_view (*at)(void *context, int64_t row, int64_t col);
  void *context;
} dm_end;

/* Puts what has ARRIVED, host memory, INTO its place. */
typedef struct dm_taker {
  dm_status (*take)(void *context, dm_view into, dm_view arrived);
  void *context;
} dm_taker;

/* Collective.  Elements of DTYPE go from FROM to TO, where TAKER has them.  Errors are agreed, but
 * for those of MPI. */
dm_status dm_redistribute(const dm_comm *comm, dm_dtype dtype, const dm_end *from, const dm_end *to,
                          dm_taker taker);

#endif
