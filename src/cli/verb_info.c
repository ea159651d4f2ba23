#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/info.h"
#include "cli/request.h"
#include "cli/session.h"

/* Describes the matrix AT. */
static dm_status describe(const dm_call *call, const dm_location *at, dm_record *record) {
  dm_attributes *provenance = calloc(1, sizeof *provenance);
  if (!provenance) return dm_fail(DM_E_FIT, "no memory for the provenance");
  dm_dataset dataset = {.composite = NULL};
  dm_status status = dm_cli_look_at(call, at, &dataset, provenance);
  if (!status) status = dm_info_dataset(&dataset, provenance, record);
  dm_dataset_free(&dataset);
  free(provenance);
  return status;
}

/* Describes the contents of a file, and its only matrix in full. If nothing in it can be
 * multiplied, the error follows the list. */
static dm_status describe_file(const dm_call *call, const dm_location *at, dm_listing *listing,
                               dm_record *record, bool *told) {
  dm_trust trust;
  DM_TRY(dm_cli_trust(&call->settings, &trust));
  DM_TRY(dm_io_list(at, &trust, listing));
  int64_t good = 0, which = 0;
  for (int64_t i = listing->count - 1; i >= 0; i--) {
    if (listing->list[i].refused[0]) continue;
    good++;
    which = i;
  }
  *told = listing->all > 1;
  if (*told) dm_info_listing(at, listing, record);
  if (*told && good == 0)
    return dm_fail(DM_E_INPUT, "%s: contains nothing that can be multiplied", at->file);
  if (good > 1 || listing->all > listing->count) return DM_OK;
  dm_location one = *at;
  const char *name = listing->list[which].name;
  if (listing->all > 0 && !strchr(name, '?')) /* with '?' the name may have been sanitized */
    snprintf(one.dataset, sizeof one.dataset, "%s", name);
  return describe(call, &one, record);
}

dm_status dm_cli_describe(const dm_call *call, const char *operand, dm_record *record, bool *told) {
  dm_location at;
  *told = false;
  if (!operand) return dm_info_program(record);
  DM_TRY(dm_io_parse_location(operand, &at));
  if (at.dataset[0]) return describe(call, &at, record);
  dm_listing *listing = malloc(sizeof *listing);
  if (!listing) return dm_fail(DM_E_FIT, "no memory for a list of datasets");
  dm_status status = describe_file(call, &at, listing, record, told);
  free(listing);
  return status;
}

/* OPERAND NULL: this program. Findings before an error are printed, too. */
static dm_status tell(const dm_call *call, const char *operand) {
  dm_record *record = NULL;
  bool told = false;
  dm_status status = dm_record_new("info", call->command, &record);
  if (status) return status;
  status = dm_cli_describe(call, operand, record, &told);
  if (!status || told) status = dm_status_first(status, dm_cli_publish(call, record));
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
