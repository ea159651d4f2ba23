/* crew: threads that stay, and share work again and again. */
#ifndef DM_CORE_CREW_H
#define DM_CORE_CREW_H

#include <stdint.h>

#include "core/status.h"

typedef struct dm_crew dm_crew;

/* THREADS in all, the caller of dm_crew_run one of them; fewer where the system gives no more. */
dm_status dm_crew_new(int threads, dm_crew **crew);
void dm_crew_free(dm_crew *crew); /* NULL is allowed */

/* WORK(CONTEXT, i) for every i below PIECES, each once, by whoever is free; returns when all are
 * done.  One call at a time. */
void dm_crew_run(dm_crew *crew, void (*work)(void *context, int64_t piece), void *context,
                 int64_t pieces);

#endif
