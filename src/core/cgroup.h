/* cgroup: what the control groups of this process grant it, those above its own included; version 1
 * and 2, and what a container shows of them. */
#ifndef DM_CORE_CGROUP_H
#define DM_CORE_CGROUP_H

#include <stdint.h>

/* ROOT is put before every path: "" but in tests. */

/* Cores' worth of time per time (cpu.max); 0: as much as there is. */
double dm_cgroup_cores(const char *root);

/* The lowest limit in bytes, and the least that is left below any; 0: there is no limit.  Clean
 * pages of files count as left: the system drops them where memory is wanted. */
int64_t dm_cgroup_memory(const char *root);
int64_t dm_cgroup_memory_left(const char *root);

#endif
