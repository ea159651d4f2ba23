/* facts: the description of rank 0's node in a record. */
#ifndef DM_RUN_FACTS_H
#define DM_RUN_FACTS_H

#include "run/record.h"

/* System, libraries, processors and their sockets and NUMA nodes, memory; of the GPU with that UUID
 * (GPU not NULL and not empty) driver, interconnect, and limits.  SHOWN: for people, too. */
void dm_facts_record(const char *gpu, bool shown, dm_record *record);

/* files.NAME_system: the kind of the file system that PATH is on. */
void dm_facts_file_system(const char *name, const char *path, dm_record *record);

#endif
