/* Compares two matrices in files. */
#include "cli/session.h"

#include <math.h>

#include "core/buffer.h"
#include "options/request.h"
#include "programs/compare.h"

static dm_status compare_check(const dm_call *call) {
  const double values[] = {call->own.rtol, call->own.atol};
  static const char *const names[] = {"rtol", "atol"};
  for (int i = 0; i < 2; i++)
    if (!(values[i] >= 0.0) || !isfinite(values[i]))
      return dm_fail(DM_E_USAGE, "option '--%s': %g is no tolerance", names[i], values[i]);
  return DM_OK;
}

/* A vector is one column, in both files. */
static dm_status compare_inspect(const dm_call *call, dm_compare *job) {
  const dm_log log = dm_cli_log(call);
  DM_FREED dm_settings *s = NULL;
  DM_TRY(dm_buffer_table(1, &s));
  *s = call->settings;
  if (!s->as_row) s->as_column = true;
  DM_TRY(dm_request_inspect_factor(s, &log, call->operands[0], 0, false, &job->a));
  return dm_request_inspect_factor(s, &log, call->operands[1], 1, false, &job->b);
}

static dm_status compare_work(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)call;
  return dm_compare_run(run, shared, record);
}

int dm_cli_compare(dm_call *call) {
  DM_FREED dm_compare *job = NULL;
  dm_status prepared = compare_check(call);
  if (!prepared) prepared = dm_buffer_table(1, &job);
  if (prepared) return dm_cli_finish(call, prepared);
  job->rtol = call->own.rtol;
  job->atol = call->own.atol;
  job->equal_nan = call->own.equal_nan;
  if (dm_cli_speaks(call)) prepared = compare_inspect(call, job);
  dm_dataset *const datasets[] = {&job->a, &job->b};
  const int code = dm_cli_run_job(call, prepared,
                                  &(dm_work){.run = compare_work,
                                             .shared = job,
                                             .bytes = sizeof *job,
                                             .datasets = datasets,
                                             .dataset_count = 2});
  for (int i = 0; i < 2; i++) dm_dataset_free(datasets[i]);
  return code;
}
