/* phase_times: durations of the parts of a multiplication on one rank. */
#ifndef DM_RUN_PHASE_TIMES_H
#define DM_RUN_PHASE_TIMES_H

#include <stdint.h>

/* Seconds this rank spent, and bytes it moved.  The first lines are all of its time since main,
 * each moment in one of them; wait: for other ranks, where none of the others is meant.  Of
 * multiply, gemm is what had a product under way; of the rest, gathers were under way in
 * exposed_fetch, and nothing but copies in exposed_upload. */
enum { DM_PHASES = 11, DM_PHASE_SECONDS = 16 };
typedef struct dm_phases {
  union {
    struct {
      double start, plan, open, commit, wait;
      double read, check, multiply, reduce, write, verify;
      double gemm, exposed_fetch, exposed_upload;
      double fetch, upload; /* under way, hidden or not */
    };
    double seconds[DM_PHASE_SECONDS]; /* the same; the first DM_PHASES add up */
  };
  int64_t received, uploaded;
  int64_t from_files; /* bytes of A, B and the old C */
  int64_t natively;   /* see dm_backend_natively; of all ranks, in dm_phases_worst alone */
  int64_t resident;   /* host memory of the process when it was largest */
} dm_phases;

#endif
