#include "plan/limits.h"

#include "plan/grid_cost.h"

static const double slower = 1.01;

enum { PHASES = 8 };

static void phases_of(const dm_forecast *f, double seconds[PHASES]) {
  const double all[PHASES] = {f->read,    f->fetch,  f->upload, f->gemm,
                              f->exposed, f->reduce, f->write,  f->total};
  for (int i = 0; i < PHASES; i++) seconds[i] = all[i];
}

static void slow_down(dm_machine *machine, dm_resource resource) {
  switch (resource) {
  case DM_RESOURCE_COMPUTE:
    for (int i = 0; i < DM_OPERANDS; i++) machine->flops[i] /= slower;
    break;
  case DM_RESOURCE_DEVICE_MEMORY:
    machine->memory /= slower;
    break;
  case DM_RESOURCE_HOST_MEMORY:
    machine->host_copy /= slower;
    break;
  case DM_RESOURCE_LINK:
    machine->link /= slower;
    machine->staged /= slower;
    break;
  case DM_RESOURCE_NETWORK:
    machine->network /= slower;
    machine->beside /= slower;
    break;
  case DM_RESOURCE_UPLOAD:
    machine->upload /= slower;
    break;
  case DM_RESOURCE_LATENCY:
    machine->latency *= slower;
    break;
  case DM_RESOURCE_FILES:
    machine->file_read /= slower;
    machine->file_write /= slower;
    break;
  case DM_RESOURCE_NONE:
  case DM_RESOURCES:
    break;
  }
}

dm_limits dm_plan_limits(const dm_plan *plan, const dm_machine *machine) {
  double now[PHASES], then[PHASES], loss[PHASES] = {0};
  dm_resource bound[PHASES] = {DM_RESOURCE_NONE};
  dm_forecast forecast = dm_plan_forecast(plan, machine);
  phases_of(&forecast, now);
  for (int r = DM_RESOURCE_NONE + 1; r < DM_RESOURCES; r++) {
    dm_machine worse = *machine;
    slow_down(&worse, (dm_resource)r);
    forecast = dm_plan_forecast(plan, &worse);
    phases_of(&forecast, then);
    for (int i = 0; i < PHASES; i++) {
      if (then[i] - now[i] <= loss[i]) continue;
      loss[i] = then[i] - now[i];
      bound[i] = (dm_resource)r;
    }
  }
  return (dm_limits){.read = bound[0],
                     .fetch = bound[1],
                     .upload = bound[2],
                     .gemm = bound[3],
                     .exposed = bound[4],
                     .reduce = bound[5],
                     .write = bound[6],
                     .total = bound[7]};
}

const char *dm_resource_name(dm_resource resource) {
  static const char *const names[DM_RESOURCES] = {[DM_RESOURCE_NONE] = "nothing",
                                                  [DM_RESOURCE_COMPUTE] = "compute",
                                                  [DM_RESOURCE_DEVICE_MEMORY] = "GPU memory",
                                                  [DM_RESOURCE_HOST_MEMORY] = "host memory",
                                                  [DM_RESOURCE_LINK] = "links in a node",
                                                  [DM_RESOURCE_NETWORK] = "network",
                                                  [DM_RESOURCE_UPLOAD] = "host to device",
                                                  [DM_RESOURCE_LATENCY] = "latency",
                                                  [DM_RESOURCE_FILES] = "files"};
  return resource < DM_RESOURCES ? names[resource] : names[DM_RESOURCE_NONE];
}
