/* Files that are looked at or verified: what `damier info` and `damier verify` do, with the options
 * of the context. */
#include "cli/request.h"
#include "job/verify.h"
#include "lib/library.h"

dm_status dm_verify_in_files(damier_context *context, const dm_matrices *matrices,
                             dm_record *record) {
  const dm_comm *world = context->run.world;
  const char *operands[] = {matrices->a->file, matrices->b->file, matrices->c->file};
  dm_verify verify = {.has_c0 = false};
  dm_call call = context->call;
  call.operands = operands;
  call.operand_count = 3;
  DM_TRY(dm_comm_agree(world, context->run.rank == 0 ? dm_cli_verify_job(&call, &verify) : DM_OK));
  DM_TRY(dm_comm_broadcast(world, &verify, sizeof verify, 0));
  return dm_verify_run(&context->run, &verify, record);
}

dm_status dm_tell_of(damier_context *context, const char *location, dm_record *record, bool *told) {
  const bool looks = context->run.rank == 0;
  return dm_comm_agree(context->run.world,
                       looks ? dm_cli_describe(&context->call, location, record, told) : DM_OK);
}
