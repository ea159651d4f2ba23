#include "plan/limits.h"

#include <stddef.h>

#include "plan/grid_cost.h"

static const double slower = 1.01;

enum { PHASES = 8 };

static void phases_of(const dm_forecast *f, double seconds[PHASES]) {
  const double all[PHASES] = {f->read,    f->fetch,  f->upload, f->gemm,
                              f->exposed, f->reduce, f->write,  f->total};
  for (int i = 0; i < PHASES; i++) seconds[i] = all[i];
}

/* The rates of a machine, by resource; latency and product rates are handled separately. */
#define RATE(field) offsetof(dm_machine, field)
static const size_t rates[DM_RESOURCES][2] = {
    [DM_RESOURCE_DEVICE_MEMORY] = {RATE(memory)},
    [DM_RESOURCE_HOST_MEMORY] = {RATE(host_copy)},
    [DM_RESOURCE_LINK] = {RATE(link), RATE(staged)},
    [DM_RESOURCE_NETWORK] = {RATE(network)},
    [DM_RESOURCE_UPLOAD] = {RATE(upload)},
    [DM_RESOURCE_FILES] = {RATE(file_read), RATE(file_write)},
};

static void slow_down(dm_machine *machine, dm_resource resource) {
  if (resource == DM_RESOURCE_LATENCY) machine->latency *= slower;
  for (int i = 0; i < DM_OPERANDS && resource == DM_RESOURCE_COMPUTE; i++)
    machine->flops[i] /= slower;
  for (int i = 0; i < 2 && rates[resource][i]; i++)
    *(double *)(void *)((char *)machine + rates[resource][i]) /= slower;
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
