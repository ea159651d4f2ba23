/* one_job: many runs of the program's code, one after the other, in a single MPI job.  MPI is
 * started once, and for each run the first ranks of the job are all that there are. */
#ifndef DM_TESTS_ONE_JOB_H
#define DM_TESTS_ONE_JOB_H

#include <stdbool.h>

/* Starts MPI. */
void one_job_start(void);
int one_job_rank(void);
int one_job_size(void);

/* Collective among the first RANKS ranks, for which, until the next call, MPI_COMM_WORLD is they.
 */
void one_job_part(int ranks);

/* Collective in the job; waits without computing.  The largest CODE of all. */
int one_job_agree(int code);

/* Ends MPI. */
void one_job_stop(void);

#endif
