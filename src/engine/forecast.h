/* forecast: the predicted times of a plan, in a record. */
#ifndef DM_ENGINE_FORECAST_H
#define DM_ENGINE_FORECAST_H

#include "plan/plan.h"
#include "run/record.h"

/* Seconds of each phase (forecast.*_s) and the resource of MACHINE that bounds it (bound.*); only
 * for machine-readable records. */
void dm_forecast_record(const dm_plan *plan, const dm_machine *machine, dm_record *record);

#endif
