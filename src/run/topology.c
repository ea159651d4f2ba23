#include "run/topology.h"

#include <hwloc.h>

void dm_topology_plain(dm_topology *t) {
  t->count = CPU_SETSIZE;
  for (int i = 0; i < CPU_SETSIZE; i++) t->cpu[i] = t->core[i] = i;
}

static void list(hwloc_topology_t loaded, dm_topology *t) {
  const int count = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PU);
  for (int i = 0; i < count; i++) {
    const hwloc_obj_t pu = hwloc_get_obj_by_type(loaded, HWLOC_OBJ_PU, (unsigned)i);
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_CORE, pu);
    if (pu->os_index >= CPU_SETSIZE) continue;
    t->cpu[t->count] = (int)pu->os_index;
    t->core[t->count++] = (int)(core ? core : pu)->logical_index;
  }
}

void dm_topology_read(dm_topology *t) {
  hwloc_topology_t loaded;
  t->count = 0;
  if (hwloc_topology_init(&loaded) == 0) {
    if (hwloc_topology_load(loaded) == 0) list(loaded, t);
    hwloc_topology_destroy(loaded);
  }
  if (t->count == 0) dm_topology_plain(t);
}

void dm_cpus_text(const cpu_set_t *cpus, char *text, size_t size) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  text[0] = 0;
  if (!set) return;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, cpus)) (void)hwloc_bitmap_set(set, cpu);
  (void)hwloc_bitmap_list_snprintf(text, size, set);
  hwloc_bitmap_free(set);
}

void dm_cpus_parse(const char *text, cpu_set_t *cpus) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  CPU_ZERO(cpus);
  if (!set) return;
  if (hwloc_bitmap_list_sscanf(set, text) == 0)
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < CPU_SETSIZE;
         cpu = hwloc_bitmap_next(set, cpu))
      CPU_SET(cpu, cpus);
  hwloc_bitmap_free(set);
}
