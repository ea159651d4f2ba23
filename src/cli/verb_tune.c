#include "cli/request.h"
#include "cli/session.h"
#include "measure/rates_measure.h"

#include <stdio.h>

static dm_status tune_rates(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  dm_rates_tune tune = {.engine = dm_cli_engine(s), .dry_run = s->dry_run};
  snprintf(tune.output, sizeof tune.output, "%s", s->rates_file);
  snprintf(tune.files, sizeof tune.files, "%s", s->files);
  return dm_rates_tune_run(run, &tune, record);
}

int dm_cli_tune_rates(dm_call *call) {
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = tune_rates});
}
