#include "job/commit.h"

#include <unistd.h>

#include "core/fork_join.h"
#include "io/pack.h"
#include "io/recast.h"

dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form) {
  if (dm_output_is_recast(form)) return dm_recast_room(file, form);
  return dm_output_is_chunked(form) ? dm_pack_room(file, form) : DM_OK;
}

/* Whoever asks to stop now would lose a result that is there: the keepalive only says that it
 * moves. */
static dm_status beat(void *run) {
  dm_watch_moved(((dm_run *)run)->watch);
  dm_watch_poll(((dm_run *)run)->watch);
  return DM_OK;
}

/* Neither kind of file has tiles of its own; one of NumPy has no provenance either. */
static dm_status commit_recast(const dm_output_file *file, const dm_output_form *form,
                               dm_tile_sums *sums, const dm_keepalive *keepalive,
                               const dm_attributes *provenance, bool force, bool *named) {
  dm_output_file made;
  int held;
  DM_TRY(dm_recast(file, form, sums, keepalive, &made, &held));
  dm_status status = dm_recast_unchanged(file, form);
  if (!status)
    status =
        dm_output_commit(&made, form->npy ? NULL : provenance, NULL, 0, force || !form->npy, named);
  dm_output_discard(*named ? file : &made);
  dm_output_release(&made);
  if (held >= 0) close(held);
  return status;
}

/* What a commit is given, beside where C is. */
typedef struct commitment {
  dm_tile_sums *sums;
  const dm_attributes *provenance;
  const dm_tile_record *tiles;
  int64_t count;
  bool force;
} commitment;

static dm_status commit_chunked(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                                int threads, const commitment *c, bool *named) {
  const dm_keepalive keepalive = {beat, run};
  dm_output_file packed;
  dm_run_phase(run, "packing", DM_SYNC_PATIENCE);
  dm_run_take_node(run); /* the other ranks wait */
  DM_TRY(dm_pack(file, form, threads < 0 ? dm_cores() : threads, c->sums, &keepalive, &packed));
  dm_status status = dm_output_commit(&packed, c->provenance, c->tiles, c->count, c->force, named);
  dm_output_discard(*named ? file : &packed);
  dm_output_release(&packed);
  return status;
}

dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_attributes *provenance, const dm_tile_record *tiles,
                         int64_t count, bool force, bool *named) {
  *named = false;
  const dm_keepalive keepalive = {beat, run};
  const bool plain = !dm_output_is_recast(form) && !dm_output_is_chunked(form);
  if (plain) return dm_output_commit(file, provenance, tiles, count, force, named);
  commitment c = {.provenance = provenance, .tiles = tiles, .count = count, .force = force};
  DM_TRY(dm_tile_sums_open(tiles, count, file->cols, &c.sums));
  dm_status status = dm_output_is_recast(form)
                         ? commit_recast(file, form, c.sums, &keepalive, provenance, force, named)
                         : commit_chunked(run, file, form, threads, &c, named);
  dm_tile_sums_close(c.sums);
  return status;
}
