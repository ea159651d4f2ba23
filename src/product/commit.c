#include "product/commit.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/crew.h"
#include "io/pack.h"
#include "run/run.h"

dm_status dm_commit_room(const dm_output_file *file, const dm_output_form *form) {
  if (dm_output_is_recast(form)) return dm_recast_room(file, form);
  return dm_output_is_chunked(form) ? dm_pack_room(file, form) : DM_OK;
}

/* Arguments of a commit. */
typedef struct commit_task {
  const dm_output_file *file;
  const dm_output_form *form;
  int threads;
  dm_tile_sums *sums; /* NULL if C stays as written */
  dm_output_completion completion;
  bool *named;
} commit_task;

/* Names MADE, and removes the file that is not needed any more. */
static dm_status commit_made(const commit_task *c, dm_output_completion completion,
                             dm_output_file *made, const dm_keepalive *keepalive) {
  completion.source = c->file;
  dm_status status = dm_output_commit(made, &completion, keepalive, c->named);
  dm_output_discard(*c->named ? c->file : made);
  dm_output_release(made);
  return status;
}

/* These files have no tiles of their own, and NumPy files no provenance either. */
static dm_status commit_recast(const commit_task *c, const dm_keepalive *keepalive) {
  dm_output_completion completion = c->completion;
  completion.tiles = NULL;
  completion.count = 0;
  if (c->form->npy) {
    completion.noted = completion.provenance;
    completion.provenance = NULL;
  }
  completion.force |= !c->form->npy;
  dm_output_file made;
  int held;
  DM_TRY(dm_recast(c->file, c->form, c->sums, keepalive, &made, &held));
  dm_status status = dm_recast_unchanged(c->file, c->form);
  if (!status) {
    status = commit_made(c, completion, &made, keepalive);
  } else {
    dm_output_give_up(&made);
  }
  if (held >= 0) close(held);
  return status;
}

static dm_status commit_chunked(const commit_task *c, const dm_keepalive *keepalive) {
  dm_output_file packed;
  DM_TRY(dm_pack(c->file, c->form, c->threads, c->sums, keepalive, &packed));
  return commit_made(c, c->completion, &packed, keepalive);
}

/* A request to stop now would lose a finished result: the keepalive only reports progress. */
static dm_status commit_complete(void *context, const dm_keepalive *keepalive) {
  const commit_task *c = context;
  return dm_output_is_recast(c->form) ? commit_recast(c, keepalive)
         : dm_output_is_chunked(c->form)
             ? commit_chunked(c, keepalive)
             : dm_output_commit(c->file, &c->completion, keepalive, c->named);
}

dm_status dm_commit_file(dm_run *run, const dm_output_file *file, const dm_output_form *form,
                         int threads, const dm_output_completion *completion, bool *named) {
  *named = false;
  const bool chunked = dm_output_is_chunked(form);
  commit_task c = {
      .file = file, .form = form, .threads = threads, .completion = *completion, .named = named};
  if (!dm_output_is_recast(form) && !chunked) return dm_watch_work(run->watch, commit_complete, &c);
  if (chunked) dm_run_phase(run, "packing", DM_SYNC_PATIENCE);
  if (chunked) dm_run_take_node(run); /* the other ranks are waiting */
  if (chunked && threads < 0) c.threads = dm_cores();
  DM_TRY(dm_tile_sums_open(completion->tiles, completion->count, file->cols, &c.sums));
  dm_status status = dm_watch_work(run->watch, commit_complete, &c);
  dm_tile_sums_close(c.sums);
  return status;
}

/* FILE is allocated. */
static dm_status give_up_now(void *file) {
  dm_output_give_up(file);
  free(file);
  return DM_OK;
}

void dm_commit_give_up(dm_run *run, dm_output_file *file, const dm_error *status) {
  const bool alone = status && !status->agreed && run->ranks > 1;
  dm_output_file *later = alone && run->ends ? malloc(sizeof *later) : NULL;
  if (later) {
    *later = *file;
    run->at_end = give_up_now;
    run->what = later;
  } else {
    dm_output_give_up(file);
  }
  file->made = -1;
}
