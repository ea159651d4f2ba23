#include "job/commit.h"

#include "io/pack.h"
#include "io/pool.h"

dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form) {
  return dm_output_is_chunked(form) ? dm_pack_room(file, form) : DM_OK;
}

/* Whoever asks to stop now would lose a result that is there: the keepalive only says that it
 * moves. */
static dm_status beat(void *run) {
  dm_watch_moved(((dm_run *)run)->watch);
  dm_watch_poll(((dm_run *)run)->watch);
  return DM_OK;
}

dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_attributes *provenance, const dm_tile_record *tiles,
                         int64_t count, bool force) {
  if (!dm_output_is_chunked(form)) return dm_output_commit(file, provenance, tiles, count, force);
  const dm_keepalive keepalive = {beat, run};
  dm_output_file packed;
  dm_run_phase(run, "packing", DM_SYNC_PATIENCE);
  /* The other ranks wait: all processors are free for it. */
  DM_TRY(dm_pack(file, form, threads < 0 ? dm_pool_cores(1) : threads, &keepalive, &packed));
  dm_status status = dm_output_commit(&packed, provenance, tiles, count, force);
  dm_output_discard(status ? &packed : file);
  return status;
}
