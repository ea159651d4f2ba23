#include "cli/session.h"
#include "options/request.h"
#include "product/info.h"

/* OPERAND NULL: this program. Findings before an error are printed, too. */
static dm_status tell(const dm_call *call, const char *operand) {
  dm_record *record = NULL;
  bool found = false;
  dm_status status = dm_record_new("info", call->command, &record);
  if (status) return status;
  const dm_log log = dm_cli_log(call);
  status = operand ? dm_request_describe(&call->settings, &log, operand, record, &found)
                   : dm_info_program(record);
  if (!status || found) status = dm_status_first(status, dm_cli_publish(call, record));
  dm_record_free(record);
  return status;
}

int dm_cli_info(dm_call *call) {
  if (!dm_cli_ramp(call)) return 0; /* only one rank under mpirun */
  dm_status opened = dm_cli_open_reports(call);
  if (opened || call->operand_count == 0)
    return dm_cli_finish(call, opened ? opened : tell(call, NULL));
  int first = 0;
  for (int i = 0; i < call->operand_count; i++) {
    const int code = dm_cli_tell(call, tell(call, call->operands[i]));
    if (first == 0) first = code;
  }
  const int code = dm_cli_finish(call, DM_OK);
  return first ? first : code;
}
