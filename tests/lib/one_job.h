/* one_job: many runs of the program's code, one after the other, in a single MPI job. MPI starts
 * once; each run sees the first ranks of the job as its world. */
#ifndef DM_TESTS_ONE_JOB_H
#define DM_TESTS_ONE_JOB_H

#include <stdbool.h>

/* Starts MPI. */
void one_job_start(void);
int one_job_rank(void);
int one_job_size(void);

/* Collective over the first RANKS ranks, which form MPI_COMM_WORLD until the next call. */
void one_job_part(int ranks);

/* Collective over the job; waits without spinning. Returns the largest CODE. */
int one_job_agree(int code);

/* Ends MPI. */
void one_job_stop(void);

#endif
