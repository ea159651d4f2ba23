/* fork_join: runs the same function on several threads and joins them. */
#ifndef DM_CORE_FORK_JOIN_H
#define DM_CORE_FORK_JOIN_H

/* Calls WORK(CONTEXT) on THREADS threads at once, including the caller; returns when all are done.
 * Returns the number of threads: at least one, fewer than THREADS if the system refuses more. */
int dm_fork_join(int threads, void (*work)(void *context), void *context);

/* Cores that this process may use. */
int dm_cores(void);

#endif
