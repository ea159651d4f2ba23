#include <stdlib.h>

#include "cli/session.h"
#include "options/request.h"

static bool is_quick(const dm_call *call) {
  return call->operand_count == 1;
}

static dm_status verify(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  return is_quick(call) ? dm_verify_quickly(run, shared, record)
                        : dm_verify_run(run, shared, record);
}

int dm_cli_verify(dm_call *call) {
  dm_verify v = {.has_c0 = false};
  if (call->operand_count == 2)
    return dm_cli_finish(call, dm_fail(DM_E_USAGE, "verify needs A, B and C, or C alone"));
  const dm_log log = dm_cli_log(call);
  dm_status prepared = DM_OK;
  if (dm_cli_ramp(call))
    prepared = is_quick(call)
                   ? dm_request_verify_alone(&call->settings, &log, call->operands[0], &v)
                   : dm_request_verify(&call->settings, &log, call->operands, &v);
  dm_tile_record *tiles = v.tiles; /* V gets overwritten with rank 0's */
  dm_dataset *const datasets[] = {&v.a, &v.b, &v.c, &v.c0};
  const dm_work work = {
      .run = verify, .shared = &v, .bytes = sizeof v, .datasets = datasets, .dataset_count = 4};
  const int code = dm_cli_run_job(call, prepared, &work);
  for (int i = 0; i < 4; i++) dm_dataset_free(datasets[i]);
  free(tiles);
  return code;
}
