/* repair: finds what is wrong in a C that failed its verification, and has it computed again.
 *
 * The files are read once more with the random vector that found an error, which shows whether C
 * is wrong, and where. Wrong tiles are removed from the journal, the job ends, and the next
 * round resumes it: it reads A and B from their files again, since their copies in memory may be
 * damaged. */
#ifndef DM_PRODUCT_REPAIR_H
#define DM_PRODUCT_REPAIR_H

#include <stdlib.h>

#include "product/job.h"
#include "product/verify.h"

/* A rank's block of one tile, and its wrong rows. If columns cannot be told apart, every block of
 * the wrong rows is listed. */
typedef struct dm_damaged {
  int64_t tile;
  int rank;            /* the rank that stores the first wrong row */
  dm_range rows, cols; /* rows and columns of the block in C */
  int64_t first, last; /* wrong rows of C */
  int64_t count;       /* number of wrong rows */
} dm_damaged;

typedef struct dm_damage {
  int64_t count;
  dm_damaged *list; /* ordered by tiles */
} dm_damage;

/* State over all rounds of one job; initially zero. */
typedef struct dm_repair {
  int round;
  int64_t tiles;         /* tiles computed again */
  dm_damage seen;        /* blocks computed again */
  dm_plan plan;          /* C in memory: of the round before, */
  bool *wrong;           /* and its tiles to compute again; NULL: all */
  int64_t wrong_tiles;   /* size of WRONG */
  int64_t process_bytes; /* memory of the process in the first round; later rounds reuse it */
  double seconds;        /* seconds of the rounds that did not end with C */
  double slower;         /* rank 0: as in dm_machine, from a round that was much slower; or 0 */
} dm_repair;

static inline void dm_repair_close(dm_repair *repair) {
  free(repair->seen.list);
  free(repair->wrong);
}

/* Collective, if JOB's verdict fails; VERIFY says how to read the files. *again: another round
 * repairs C. Otherwise the verdict may pass now: C is right, the verification was wrong.
 * DM_E_CORRUPT, agreed: what was computed again is wrong again. */
dm_status dm_repair_try(dm_job *job, const dm_verify *verify, dm_repair *repair, bool *again);

#endif
