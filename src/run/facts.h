/* facts: the description of rank 0's node in a record. */
#ifndef DM_RUN_FACTS_H
#define DM_RUN_FACTS_H

#include "run/record.h"

/* Records system, libraries, processors with their sockets and NUMA nodes, memory; and for the GPU
 * with this UUID (if GPU is not NULL or empty) driver, interconnect, and limits. SHOWN: in the
 * table, too. */
void dm_facts_record(const char *gpu, bool shown, dm_record *record);

/* Records files.NAME_system: the type of PATH's file system. */
void dm_facts_file_system(const char *name, const char *path, dm_record *record);

#endif
