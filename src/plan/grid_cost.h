/* grid_cost: the predicted time of a plan, and what bounds it. */
#ifndef DM_PLAN_GRID_COST_H
#define DM_PLAN_GRID_COST_H

#include "plan/plan.h"

/* The forecast of PLAN (problem, grid, panels and residences; nothing else is read) on MACHINE:
 *
 *   total = read + loop + reduce + write   minus what the loop hides: docs/planning.md
 *   loop  = head + (panels - 1) * longest stage of a panel + tail   with overlap, else the sum
 *
 * The stages of a panel are fetch, upload and gemm. On a CPU rank the copies of fetch occupy the
 * cores, so they count in gemm, too. A product runs at the machine's rate times r/(r+s) * c/(c+s) *
 * w/(w+t) for r x c results and panels of width w; s and t are the sizes that halve the rate. A CPU
 * multiplies slices of at most 384 of the width, whose passes over C are part of its rate; narrower
 * panels need more passes, and products are limited by the memory traffic of these and of the
 * operands. Short runs in the files slow down reading (volume.h). */
dm_forecast dm_plan_forecast(const dm_plan *plan, const dm_machine *machine);

/* By how much PLAN's forecast for MACHINE grows if C goes to a new file in memory: its pages are
 * made in the order of its rows, and a row is stored when its pages are there. */
double dm_plan_pages_seconds(const dm_plan *plan, const dm_machine *machine);

/* Mean bytes per rank that PLAN's gathers and sums receive from other nodes; without boxes in PLAN,
 * ranks are in plain order. */
double dm_plan_crossing(const dm_plan *plan, const dm_machine *machine);

/* The fraction of its rate at which a product of a rows x width and a width x cols panel runs. */
double dm_product_efficiency(double rows, double cols, double width, bool gpu);

/* ---- the cost in seconds, by which plans are compared, and grids not completed to plans yet ----
 * */

/* The price of a plan: its predicted total, a small part of the time of each phase even if it is
 * hidden, and a surcharge for reading files again: file rates are the least certain, and files are
 * shared with others. */
double dm_plan_price(const dm_plan *plan);

/* A lower bound of the price of all plans with this grid; cheap, for pruning. */
double dm_grid_floor(const dm_problem *problem, const dm_machine *machine, int pm, int pn, int pk);

/* ---- which resource of the machine bounds each phase ---- */

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
typedef union dm_limits {
  struct {
    dm_resource read, upload, fetch, gemm, reduce, write, exposed, total; /* as in dm_forecast */
  };
  dm_resource of[DM_FORECAST_PHASES];
} dm_limits;

/* For PLAN on MACHINE: the resource whose slowdown would delay the phase most. */
dm_limits dm_plan_limits(const dm_plan *plan, const dm_machine *machine);

/* "compute", "network", ...; "nothing" for DM_RESOURCE_NONE. */
const char *dm_resource_name(dm_resource resource);

#endif
