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

/* A list of CPUs as Linux writes it, "0-7,16-23", cut off at SIZE characters; "" is no CPU. */
void dm_cpus_text(const cpu_set_t *cpus, char *text, size_t size);

/* Reads such a list; one that cannot be read gives no CPU.  CPUs from CPU_SETSIZE on are left out.
 */
void dm_cpus_parse(const char *text, cpu_set_t *cpus);

#endif
