/* topology: the logical CPUs of this computer, ordered by proximity. */
#ifndef DM_RUN_TOPOLOGY_H
#define DM_RUN_TOPOLOGY_H

#include <sched.h>

typedef struct dm_topology {
  int count;
  int cpu[CPU_SETSIZE]; /* numbers of logical CPUs; those of a core, cache or socket are consecutive
                         */
  int core[CPU_SETSIZE]; /* core of cpu[i]; the same for all hardware threads of a core */
} dm_topology;

/* Reads it from hwloc, which takes a few ms; HWLOC_SYNTHETIC or HWLOC_XMLFILE describe another
 * computer. If hwloc knows nothing, CPUs are in the order of their numbers. */
void dm_topology_read(dm_topology *topology);

/* CPUs in the order of their numbers, one hardware thread per core, without hwloc. */
void dm_topology_plain(dm_topology *topology);

/* A list of CPUs in the format of Linux, "0-7,16-23", truncated to SIZE characters; "" is no
 * CPU. */
void dm_cpus_text(const cpu_set_t *cpus, char *text, size_t size);

/* Parses such a list; an invalid list is empty. CPUs from CPU_SETSIZE are ignored. */
void dm_cpus_parse(const char *text, cpu_set_t *cpus);

#endif
