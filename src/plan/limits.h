/* limits: which resource of the machine bounds each phase of a plan. */
#ifndef DM_PLAN_LIMITS_H
#define DM_PLAN_LIMITS_H

#include "plan/plan.h"

typedef enum dm_resource {
  DM_RESOURCE_NONE, /* the phase takes no time */
  DM_RESOURCE_COMPUTE,
  DM_RESOURCE_DEVICE_MEMORY,
  DM_RESOURCE_HOST_MEMORY,
  DM_RESOURCE_LINK,
  DM_RESOURCE_NETWORK,
  DM_RESOURCE_UPLOAD,
  DM_RESOURCE_LATENCY,
  DM_RESOURCE_FILES,
  DM_RESOURCES,
} dm_resource;

/* What bounds each phase of a forecast. */
typedef struct dm_limits {
  dm_resource read, fetch, upload, gemm, exposed, reduce, write, total;
} dm_limits;

/* For PLAN on MACHINE: the resource whose slowdown would delay the phase most. */
dm_limits dm_plan_limits(const dm_plan *plan, const dm_machine *machine);

/* "compute", "network", ...; "nothing" for DM_RESOURCE_NONE. */
const char *dm_resource_name(dm_resource resource);

#endif
