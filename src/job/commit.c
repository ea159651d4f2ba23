#include "job/commit.h"

#include <unistd.h>

#include "core/fork_join.h"
#include "io/pack.h"
#include "io/recast.h"
#include "run/aside.h"

dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form) {
  if (dm_output_is_recast(form)) return dm_recast_room(file, form);
  return dm_output_is_chunked(form) ? dm_pack_room(file, form) : DM_OK;
}

/* Arguments of a commit. */
typedef struct commitment {
  const dm_output_file *file;
  const dm_output_form *form;
  int threads;
  dm_tile_sums *sums; /* NULL if C stays as written */
  const dm_attributes *provenance;
  const dm_tile_record *tiles;
  int64_t count;
  bool force, *named;
} commitment;

/* These files have no tiles of their own, and NumPy files no provenance either. */
static dm_status commit_recast(const commitment *c, const dm_keepalive *keepalive) {
  const bool npy = c->form->npy;
  dm_output_file made;
  int held;
  DM_TRY(dm_recast(c->file, c->form, c->sums, keepalive, &made, &held));
  dm_status status = dm_recast_unchanged(c->file, c->form);
  if (!status)
    status = dm_output_commit(&made, npy ? NULL : c->provenance, NULL, 0, c->force || !npy,
                              keepalive, c->named);
  dm_output_discard(*c->named ? c->file : &made);
  dm_output_release(&made);
  if (held >= 0) close(held);
  return status;
}

static dm_status commit_chunked(const commitment *c, const dm_keepalive *keepalive) {
  dm_output_file packed;
  DM_TRY(dm_pack(c->file, c->form, c->threads, c->sums, keepalive, &packed));
  dm_status status =
      dm_output_commit(&packed, c->provenance, c->tiles, c->count, c->force, keepalive, c->named);
  dm_output_discard(*c->named ? c->file : &packed);
  dm_output_release(&packed);
  return status;
}

static dm_status commit_plain(const commitment *c, const dm_keepalive *keepalive) {
  return dm_output_commit(c->file, c->provenance, c->tiles, c->count, c->force, keepalive,
                          c->named);
}

/* A request to stop now would lose a finished result: the keepalive only reports progress. */
static dm_status commit(void *context, const dm_keepalive *keepalive) {
  const commitment *c = context;
  return dm_output_is_recast(c->form)    ? commit_recast(c, keepalive)
         : dm_output_is_chunked(c->form) ? commit_chunked(c, keepalive)
                                         : commit_plain(c, keepalive);
}

dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_attributes *provenance, const dm_tile_record *tiles,
                         int64_t count, bool force, bool *named) {
  *named = false;
  const bool chunked = dm_output_is_chunked(form);
  commitment c = {.file = file,
                  .form = form,
                  .threads = threads,
                  .provenance = provenance,
                  .tiles = tiles,
                  .count = count,
                  .force = force,
                  .named = named};
  if (!dm_output_is_recast(form) && !chunked) return dm_run_aside(run, commit, &c);
  if (chunked) dm_run_phase(run, "packing", DM_SYNC_PATIENCE);
  if (chunked) dm_run_take_node(run); /* the other ranks are waiting */
  if (chunked && threads < 0) c.threads = dm_cores();
  DM_TRY(dm_tile_sums_open(tiles, count, file->cols, &c.sums));
  dm_status status = dm_run_aside(run, commit, &c);
  dm_tile_sums_close(c.sums);
  return status;
}
