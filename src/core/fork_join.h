/* fork_join: several threads run the same work, and end together. */
#ifndef DM_CORE_FORK_JOIN_H
#define DM_CORE_FORK_JOIN_H

/* WORK(CONTEXT) in THREADS threads at once, the caller one of them; returns when all are done.  How
 * many there were: at least one, fewer than THREADS where the system gives no more. */
int dm_fork_join(int threads, void (*work)(void *context), void *context);

/* Cores that this process may use. */
int dm_cores(void);

#endif
