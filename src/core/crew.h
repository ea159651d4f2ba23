/* crew: threads that share work. They wait in a pool, which the first call fills. A caller works,
 * too, and waits only for helpers that have begun: on a busy machine it does all itself. */
#ifndef DM_CORE_CREW_H
#define DM_CORE_CREW_H

#include <stdint.h>

#include "core/status.h"

/* Calls WORK(CONTEXT) on this thread and on at most THREADS - 1 others, on the same cores; returns
 * when all that were called have returned. */
void dm_fork_join(int threads, void (*work)(void *context), void *context);

/* Calls WORK(CONTEXT, i) once for every i below COUNT, on at most THREADS threads (0: as many as
 * this process may use cores); returns the first error, after which no more calls begin. */
dm_status dm_fork_each(int64_t count, int threads, dm_status (*work)(void *context, int64_t i),
                       void *context);

/* The same for work that cannot fail, with a number of threads that is stated once. */
typedef struct dm_crew dm_crew;
dm_status dm_crew_new(int threads, dm_crew **crew);
void dm_crew_free(dm_crew *crew); /* NULL is allowed */
void dm_crew_run(dm_crew *crew, void (*work)(void *context, int64_t piece), void *context,
                 int64_t pieces);

/* Cores that this process may use. */
int dm_cores(void);

#endif
