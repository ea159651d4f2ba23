/* phase_times: durations of the parts of a multiplication on one rank. */
#ifndef DM_RUN_PHASE_TIMES_H
#define DM_RUN_PHASE_TIMES_H

#include <stdint.h>

/* Seconds that this rank spent, and bytes it moved. The first lines cover all of its time since
 * main, each moment once; wait: waiting for other ranks outside the other phases. Of multiply, gemm
 * had a product under way; of the rest, exposed_fetch had gathers under way, and exposed_upload
 * only copies. */
enum { DM_PHASES = 11, DM_PHASE_SECONDS = 16 };
typedef struct dm_phases {
  union {
    struct {
      double start, plan, open, commit, wait;
      double read, check, multiply, reduce, write, verify;
      double gemm, exposed_fetch, exposed_upload;
      double fetch, upload; /* total, hidden or not */
    };
    double seconds[DM_PHASE_SECONDS]; /* the same values; the first DM_PHASES add up */
  };
  int64_t received, uploaded;
  int64_t from_files; /* bytes of A, B and the old C read */
  int64_t natively;   /* see dm_backend_natively; of all ranks, only in dm_phases_worst */
  int64_t resident;   /* peak host memory of the process */
} dm_phases;

#endif
