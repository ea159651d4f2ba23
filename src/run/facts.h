/* facts: the description of rank 0's node in a record. */
#ifndef DM_RUN_FACTS_H
#define DM_RUN_FACTS_H

#include <pthread.h>

#include "backend/gpu_list.h"
#include "run/record.h"

/* What NVML says of a GPU. It takes 50 ms to start: so a thread asks it while the GPU multiplies,
 * and the answer serves later products. */
typedef struct dm_gpu_facts {
  char uuid[64];
  bool threaded; /* THREAD may still write FOUND */
  pthread_t thread;
  dm_nvml_facts found;
} dm_gpu_facts;

/* Begins to ask for the GPU of UUID, unless *FACTS, NULL at first, knows it; close them in the end.
 */
void dm_gpu_facts_ask(dm_gpu_facts **facts, const char *uuid);
void dm_gpu_facts_close(dm_gpu_facts *facts); /* NULL is allowed */

/* Records system, libraries, processors with their sockets and NUMA nodes, memory; and driver,
 * interconnect, and limits of GPU (NULL: none). SHOWN: in the table, too. */
void dm_facts_record(dm_gpu_facts *gpu, bool shown, dm_record *record);

/* Records files.NAME_system: the type of PATH's file system. */
void dm_facts_file_system(const char *name, const char *path, dm_record *record);

#endif
