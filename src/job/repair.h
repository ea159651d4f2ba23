/* repair: what is done about a C that failed its verification.
 *
 * The files are read once more, with the random vector that saw something: then it is known whether
 * C is wrong, and where.  Wrong tiles are struck from the journal, the job ends, and the next round
 * resumes it: A and B are read from their files again, for what is in memory may be what is
 * damaged.
 */
#ifndef DM_JOB_REPAIR_H
#define DM_JOB_REPAIR_H

#include "job/damage.h"
#include "job/multiply_impl.h"

/* Of all rounds of one job; zero at first. */
typedef struct dm_repair {
  int round;
  int64_t tiles;         /* computed again */
  dm_damage seen;        /* blocks that were */
  int64_t process_bytes; /* of the first round: what it left is used again */
  double seconds;        /* of the rounds that failed */
} dm_repair;

/* Collective, where JOB's verdict fails and VERIFY tells how to read the files.  *again: another
 * round repairs it.  Otherwise the verdict may pass now: then C is right, and what verified it was
 * not.  DM_E_CORRUPT, agreed: what was computed again is wrong again. */
dm_status dm_repair_try(dm_job *job, const dm_verify *verify, dm_repair *repair, bool *again);

#endif
