#include "engine/forecast.h"

#include <stdio.h>

#include "plan/limits.h"

void dm_forecast_record(const dm_plan *plan, const dm_machine *machine, dm_record *record) {
  const dm_forecast *f = &plan->forecast;
  const dm_limits by = dm_plan_limits(plan, machine);
  const struct {
    const char *name;
    double seconds;
    dm_resource bound;
  } phases[] = {{"total", f->total, by.total},    {"read", f->read, by.read},
                {"upload", f->upload, by.upload}, {"fetch", f->fetch, by.fetch},
                {"gemm", f->gemm, by.gemm},       {"exposed", f->exposed, by.exposed},
                {"reduce", f->reduce, by.reduce}, {"write", f->write, by.write}};
  dm_record_real(record, "forecast.start_s", NULL, DM_SHOWN_SECONDS, f->start);
  dm_record_real(record, "forecast.command_s", NULL, DM_SHOWN_SECONDS, f->start + f->total);
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "forecast.%s_s", phases[i].name);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, phases[i].seconds);
    snprintf(path, sizeof path, "bound.%s", phases[i].name);
    dm_record_text(record, path, NULL, "%s", dm_resource_name(phases[i].bound));
  }
}
