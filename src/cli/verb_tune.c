#include "cli/request.h"
#include "cli/session.h"
#include "measure/rates_measure.h"
#include "measure/tune.h"

#include <stdio.h>

static dm_status read_settings(const dm_settings *s, dm_tune *tune) {
  const bool one = dm_cli_given(s, "type");
  if (one && s->type != DM_F32 && s->type != DM_F64)
    return dm_hint(
        dm_fail(DM_E_USAGE, "kernel jit does not multiply %s", dm_dtype_name((dm_dtype)s->type)),
        "--type f32 or f64; without --type both are tuned");
  for (int t = 0; t < DM_TILING_TYPES; t++)
    tune->types[t] = !one || dm_tiling_type((dm_dtype)s->type) == t;
  tune->dry_run = s->dry_run;
  snprintf(tune->output, sizeof tune->output, "%s", s->tunings);
  return DM_OK;
}

static dm_status tune_and_tell(const dm_call *call, const dm_tune *tune) {
  dm_record *record = NULL;
  const dm_log log = dm_cli_log(call);
  DM_TRY(dm_record_new("tune", call->command, &record));
  dm_status status = dm_tune_run(tune, &log, record);
  if (!status) status = dm_cli_publish(call, record);
  dm_record_free(record);
  return status;
}

int dm_cli_tune(dm_call *call) {
  dm_tune tune = {.dry_run = false};
  if (!dm_cli_ramp(call)) return 0; /* only one rank under mpirun */
  dm_status status = read_settings(&call->settings, &tune);
  if (!status) status = dm_cli_open_reports(call);
  if (!status) status = tune_and_tell(call, &tune);
  return dm_cli_finish(call, status);
}

static dm_status tune_rates(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)shared;
  const dm_settings *s = &call->settings;
  dm_rates_tune tune = {.engine = dm_cli_engine(s), .dry_run = s->dry_run};
  snprintf(tune.output, sizeof tune.output, "%s", s->tunings);
  snprintf(tune.files, sizeof tune.files, "%s", s->files);
  return dm_rates_tune_run(run, &tune, record);
}

int dm_cli_tune_rates(dm_call *call) {
  return dm_cli_run_job(call, DM_OK, &(dm_work){.run = tune_rates});
}
