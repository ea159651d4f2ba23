#include "cli/request.h"
#include "cli/session.h"
#include "core/units.h"
#include "measure/rates_measure.h"
#include "measure/tune.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SIZES = sizeof((dm_tune *)0)->sizes / sizeof(int64_t), LARGEST = 65536 };

/* "512,1024,8k" */
static dm_status read_sizes(const char *text, dm_tune *tune) {
  for (const char *at = text; *at;) {
    char word[32];
    const size_t length = strcspn(at, ",");
    int64_t size = 0;
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    if (!dm_parse_count(word, &size) || size < 1 || size > LARGEST)
      return dm_hint(dm_fail(DM_E_USAGE, "option '--sizes': '%s' is not a size", word),
                     "whole numbers up to %d with commas between, such as 1024,8192", LARGEST);
    if (tune->size_count == MOST_SIZES)
      return dm_fail(DM_E_USAGE, "option '--sizes': more than %d", MOST_SIZES);
    tune->sizes[tune->size_count++] = size;
    at += length + (at[length] == ',');
  }
  return DM_OK;
}

static dm_status read_settings(const dm_settings *s, dm_tune *tune) {
  const bool one = dm_cli_given(s, "type");
  if (one && s->type != DM_F32 && s->type != DM_F64)
    return dm_hint(
        dm_fail(DM_E_USAGE, "kernel jit does not multiply %s", dm_dtype_name((dm_dtype)s->type)),
        "--type f32 or f64; without it both are tuned");
  for (int t = 0; t < DM_TILING_TYPES; t++)
    tune->types[t] = !one || dm_tiling_type((dm_dtype)s->type) == t;
  if (s->time <= 0.0) return dm_fail(DM_E_USAGE, "option '--time': it is not more than 0");
  tune->seconds = s->time;
  tune->dry_run = s->dry_run;
  snprintf(tune->output, sizeof tune->output, "%s", s->tunings);
  return read_sizes(s->sizes, tune);
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
  dm_tune tune = {.seconds = 0.0};
  if (!dm_cli_ramp(call)) return 0; /* once under mpirun */
  dm_status status = read_settings(&call->settings, &tune);
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
