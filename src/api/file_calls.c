/* Inspects or verifies files like `damier info` and `damier verify`, with the options of the
 * context. */
#include <stdlib.h>

#include "api/library.h"
#include "product/info.h"

dm_status dm_verify_in_files(damier_context *context, const damier_matrix *const matrices[3],
                             dm_record *record) {
  const dm_run *run = &context->run;
  const char *const operands[] = {matrices[0]->file, matrices[1]->file, matrices[2]->file};
  dm_verify verify = {.has_c0 = false};
  dm_status status = DM_OK;
  if (run->rank == 0) status = dm_request_verify(&context->settings, &run->log, operands, &verify);
  dm_tile_record *tiles = verify.tiles; /* only valid on rank 0 */
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_broadcast(run->world, &verify, sizeof verify, 0);
  if (!status) status = dm_verify_run(&context->run, &verify, record);
  free(tiles);
  return status;
}

dm_status dm_describe_location(damier_context *context, const char *location, dm_record *record,
                               bool *found) {
  const dm_run *run = &context->run;
  dm_status status = DM_OK;
  if (run->rank == 0)
    status = location ? dm_request_describe(&context->settings, &run->log, location, record, found)
                      : dm_info_program(record);
  return dm_comm_agree(run->world, status);
}
