/* topology: the logical CPUs of this computer, neighbours next to each other. */
#ifndef DM_RUN_TOPOLOGY_H
#define DM_RUN_TOPOLOGY_H

#include <sched.h>

typedef struct dm_topology {
  int count;
  int cpu[CPU_SETSIZE];  /* numbers of logical CPUs: those of a core, a cache, a socket in a row */
  int core[CPU_SETSIZE]; /* of cpu[i]; hardware threads of one core have the same */
} dm_topology;

/* From hwloc, which takes a few ms, and which HWLOC_SYNTHETIC or HWLOC_XMLFILE can tell of another
 * computer.  Where it knows nothing, CPUs follow their numbers. */
void dm_topology_read(dm_topology *topology);

/* The same without asking, for computers whose cores have one hardware thread each. */
void dm_topology_plain(dm_topology *topology);

#endif
