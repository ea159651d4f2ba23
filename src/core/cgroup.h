/* cgroup: limits of this process's control groups and their parents; versions 1 and 2, also inside
 * containers. */
#ifndef DM_CORE_CGROUP_H
#define DM_CORE_CGROUP_H

#include <stdint.h>

/* ROOT is prepended to every path: "" except in tests. */

/* CPU time per time, in cores (cpu.max); 0: no limit. */
double dm_cgroup_cores(const char *root);

/* The lowest limit in bytes, and the smallest amount left below any limit; 0: no limit. Clean pages
 * of files count as left: the system drops them when memory is needed. */
int64_t dm_cgroup_memory(const char *root);
int64_t dm_cgroup_memory_left(const char *root);

#endif
