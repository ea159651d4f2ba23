/* phase_times: what the parts of a multiplication took on one rank. */
#ifndef DM_RUN_PHASE_TIMES_H
#define DM_RUN_PHASE_TIMES_H

#include <stdint.h>

/* Seconds this rank spent, and bytes it moved.  Of multiply, gemm is what had a product under way;
 * of the rest, gathers were under way in exposed_fetch, and nothing but copies in exposed_upload.
 */
typedef struct dm_phases {
  double read, check, multiply, gemm, reduce, write, verify;
  double exposed_fetch, exposed_upload;
  double commit;        /* of rank 0, which packs chunks */
  double fetch, upload; /* under way, hidden or not */
  int64_t received, uploaded;
  int64_t from_files; /* bytes of A, B and the old C */
  int64_t resident;   /* host memory of the process when it was largest */
} dm_phases;

#endif
