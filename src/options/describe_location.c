/* Describes what a location names: a matrix, or the contents of a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/request.h"
#include "product/info.h"

/* Describes the matrix AT. */
static dm_status describe(const dm_settings *s, const dm_log *log, const dm_location *at,
                          dm_record *record) {
  dm_attributes *provenance = calloc(1, sizeof *provenance);
  if (!provenance) return dm_fail(DM_E_FIT, "no memory for the provenance");
  dm_dataset dataset = {.composite = NULL};
  dm_status status = dm_request_inspect_at(s, log, at, &dataset, provenance);
  if (!status) status = dm_info_dataset(&dataset, provenance, record);
  dm_dataset_free(&dataset);
  free(provenance);
  return status;
}

/* Describes the contents of a file, and its only matrix in full. If nothing in it can be
 * multiplied, the error follows the list. */
static dm_status describe_file(const dm_settings *s, const dm_log *log, const dm_location *at,
                               dm_listing *listing, dm_record *record, bool *found) {
  dm_trust trust;
  DM_TRY(dm_request_trust(s, &trust));
  DM_TRY(dm_io_list(at, &trust, listing));
  int64_t good = 0, which = 0;
  for (int64_t i = listing->count - 1; i >= 0; i--) {
    if (listing->list[i].refused[0]) continue;
    good++;
    which = i;
  }
  *found = listing->all > 1;
  if (*found) dm_info_listing(at, listing, record);
  if (*found && good == 0)
    return dm_fail(DM_E_INPUT, "%s: contains nothing that can be multiplied", at->file);
  if (good > 1 || listing->all > listing->count) return DM_OK;
  dm_location one = *at;
  const char *name = listing->list[which].name;
  if (listing->all > 0 && !strchr(name, '?')) /* with '?' the name may have been sanitized */
    snprintf(one.dataset, sizeof one.dataset, "%s", name);
  return describe(s, log, &one, record);
}

dm_status dm_request_describe(const dm_settings *s, const dm_log *log, const char *operand,
                              dm_record *record, bool *found) {
  dm_location at;
  *found = false;
  DM_TRY(dm_io_parse_location(operand, &at));
  if (at.dataset[0] || at.part[0] || dm_io_is_stack(&at)) return describe(s, log, &at, record);
  dm_listing *listing = malloc(sizeof *listing);
  if (!listing) return dm_fail(DM_E_FIT, "no memory for a list of datasets");
  dm_status status = describe_file(s, log, &at, listing, record, found);
  free(listing);
  return status;
}
