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
