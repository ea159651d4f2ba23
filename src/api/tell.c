/* Inspects or verifies files like `damier info` and `damier verify`, with the options of the
 * context. */
#include <stdlib.h>

#include "api/library.h"
#include "cli/request.h"
#include "product/verify.h"

dm_status dm_verify_in_files(damier_context *context, const damier_matrix *const matrices[3],
                             dm_record *record) {
  const dm_comm *world = context->run.world;
  const char *operands[] = {matrices[0]->file, matrices[1]->file, matrices[2]->file};
  dm_verify verify = {.has_c0 = false};
  dm_call call = context->call;
  call.operands = operands;
  call.operand_count = 3;
  dm_status status = context->run.rank == 0 ? dm_cli_verify_job(&call, &verify) : DM_OK;
  dm_tile_record *tiles = verify.tiles; /* only valid on rank 0 */
  status = dm_comm_agree(world, status);
  if (!status) status = dm_comm_broadcast(world, &verify, sizeof verify, 0);
  if (!status) status = dm_verify_run(&context->run, &verify, record);
  free(tiles);
  return status;
}

dm_status dm_tell_of(damier_context *context, const char *location, dm_record *record, bool *told) {
  const bool looks = context->run.rank == 0;
  return dm_comm_agree(context->run.world,
                       looks ? dm_cli_describe(&context->call, location, record, told) : DM_OK);
}
