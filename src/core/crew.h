/* crew: a pool of persistent threads that share work. */
#ifndef DM_CORE_CREW_H
#define DM_CORE_CREW_H

#include <stdint.h>

#include "core/status.h"

typedef struct dm_crew dm_crew;

/* THREADS in all, including the caller of dm_crew_run; fewer if the system refuses more. */
dm_status dm_crew_new(int threads, dm_crew **crew);
void dm_crew_free(dm_crew *crew); /* NULL is allowed */

/* Calls WORK(CONTEXT, i) once for every i below PIECES, on any free thread; returns when all are
 * done. One call at a time. */
void dm_crew_run(dm_crew *crew, void (*work)(void *context, int64_t piece), void *context,
                 int64_t pieces);

/* Calls WORK(CONTEXT, i) once on each thread, which has the same i in all calls: 0 is the caller's.
 * Returns when all are done. */
void dm_crew_each(dm_crew *crew, void (*work)(void *context, int64_t thread), void *context);
int dm_crew_threads(const dm_crew *crew);

/* ---- the same function on several threads, which are joined ---- */

/* Calls WORK(CONTEXT) on THREADS threads at once, including the caller; returns when all are done.
 * Returns the number of threads: at least one, fewer than THREADS if the system refuses more. */
int dm_fork_join(int threads, void (*work)(void *context), void *context);

/* Calls WORK(CONTEXT, i) once for every i below COUNT, on at most THREADS threads (0: as many as
 * this process may use cores); returns the first error, after which no more calls begin. */
dm_status dm_fork_each(int64_t count, int threads, dm_status (*work)(void *context, int64_t i),
                       void *context);

/* Cores that this process may use. */
int dm_cores(void);

#endif
