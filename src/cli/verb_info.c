#include <stdlib.h>

#include "cli/request.h"
#include "cli/session.h"
#include "measure/info.h"

static dm_status describe(const dm_call *call, const char *operand, dm_record *record) {
  dm_attributes *provenance = calloc(1, sizeof *provenance);
  if (!provenance) return dm_fail(DM_E_FIT, "no memory for the provenance");
  dm_dataset dataset;
  dm_status status = dm_cli_look(call, operand, &dataset, provenance);
  if (!status) status = dm_info_dataset(&dataset, provenance, record);
  free(provenance);
  return status;
}

/* OPERAND NULL: the program itself. */
static dm_status tell(const dm_call *call, const char *operand) {
  dm_record *record = NULL;
  dm_status status = dm_record_new("info", call->command, &record);
  if (!status) status = operand ? describe(call, operand, record) : dm_info_program(record);
  if (!status) status = dm_cli_publish(call, record);
  dm_record_free(record);
  return status;
}

int dm_cli_info(dm_call *call) {
  dm_status status = DM_OK;
  if (!dm_cli_ramp(call)) return 0; /* once under mpirun */
  if (call->operand_count == 0) status = tell(call, NULL);
  for (int i = 0; !status && i < call->operand_count; i++) status = tell(call, call->operands[i]);
  return dm_cli_finish(call, status);
}
