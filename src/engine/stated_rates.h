/* stated_rates: what is assumed of files and cores that were not measured. */
#ifndef DM_ENGINE_STATED_RATES_H
#define DM_ENGINE_STATED_RATES_H

#include "plan/machine.h"

/* ---- files ---- */

enum { DM_FILES_READ = 3 };

/* The files of a job, as far as they have names; NULL: none. They determine the rates of
 * files. Some operands, or C, may be in host memory instead. */
typedef struct dm_named_files {
  const char *reads[DM_FILES_READ], *writes;
  bool reads_memory, writes_memory;
} dm_named_files;

/* State of the files, in terms that noise does not change. */
typedef struct dm_seen_files {
  bool cached;    /* all inputs are in memory already */
  bool in_memory; /* the output is in memory, or on a file system there, */
  bool new_pages; /* whose pages must be cleared first */
  bool fit;       /* memory could hold the inputs twice */
} dm_seen_files;

/* Inspects FILES in less than 1 ms per file. */
dm_seen_files dm_see_files(const dm_named_files *files);

/* Sets stated rates of files, for a job with CORES cores on NODES computers. If the inputs fit in
 * memory, the plan is chosen as if they were there, and the forecast uses the actual state: the
 * plan does not depend on what is cached. */
void dm_state_files(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine);

/* ---- cores ---- */

/* Sets the stated speed of products, for the forecast only. THREADS and CORES are totals over NODES
 * equal computers. */
void dm_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine);

/* Whether CORES of the CPU finish FLOPS of products of type WORK before a GPU has started. */
bool dm_cpu_is_sooner(double flops, dm_dtype work, int cores);

#endif
