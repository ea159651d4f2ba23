/* seen_files: what the planner sees of this run's files and cores, beyond the machine's rates. */
#ifndef DM_ENGINE_SEEN_FILES_H
#define DM_ENGINE_SEEN_FILES_H

#include "engine/engine.h"

/* State of the files, in terms that noise does not change. */
typedef struct dm_seen_files {
  bool cached;    /* all inputs are in memory already */
  bool in_memory; /* the output is on a file system in memory */
  bool fit;       /* memory could hold the inputs twice */
} dm_seen_files;

/* Inspects FILES in less than 1 ms per file. */
dm_seen_files dm_see_files(const dm_named_files *files);

/* Sets stated rates of files, for a job with CORES cores on NODES computers. If the inputs fit in
 * memory, the plan is chosen as if they were there, and the forecast uses the actual state: the
 * plan does not depend on what is cached. */
void dm_state_files(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine);

/* Sets the stated speed of products, for the forecast only. THREADS and CORES are totals over NODES
 * equal computers. */
void dm_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine);

#endif
