#include "lib/result.h"

#include <stdlib.h>

#include "job/commit.h"
#include "job/provenance.h"

dm_status dm_result_open(dm_run *run, const damier_matrix *stated, dm_result *result) {
  result->in_file = stated->division == DAMIER_IN_FILE;
  if (result->in_file) return DM_OK;
  return dm_distributed_open(run->world, stated, "C", &result->memory);
}

/* ---- a file ---- */

static dm_status make(const dm_run *run, const dm_multiply *job, const dm_problem *p,
                      dm_result *r) {
  DM_TRY(dm_output_create(&job->out, p->c, p->m, p->n, job->force, &r->file));
  r->is_made = true;
  DM_TRY(dm_output_choose_way(&r->file, job->engine.write_by,
                              dm_run_writers(run, job->engine.io_threads)));
  return dm_commit_room(&r->file, &r->form);
}

static dm_status open_part(dm_run *run, const dm_multiply *job, dm_result *r) {
  DM_TRY(dm_output_open(&r->file, &r->output));
  return dm_file_queue_open(dm_run_io_threads(run, job->engine.io_threads), 0, &r->behind);
}

dm_status dm_result_make(dm_run *run, const dm_multiply *job, const dm_problem *problem,
                         dm_result *result) {
  result->form = job->form;
  DM_TRY(dm_comm_agree(run->world,
                       dm_output_form_complete(&result->form, problem->c, problem->m, problem->n)));
  DM_TRY(dm_comm_agree(run->world, run->rank == 0 ? make(run, job, problem, result) : DM_OK));
  const int made = result->file.made;
  DM_TRY(dm_comm_broadcast(run->world, &result->file, sizeof result->file, 0));
  result->file.made = made;
  return dm_comm_agree(run->world, open_part(run, job, result));
}

dm_status dm_result_write(dm_result *result, const dm_run *run, int64_t row, int64_t col,
                          dm_view view) {
  dm_transfer *writing;
  if (dm_view_is_empty(view)) return DM_OK;
  DM_TRY(dm_file_queue_write(result->behind, result->output, row, col, view, (dm_prepare){0},
                             &writing));
  return dm_transfer_wait(writing, &run->keepalive);
}

static dm_status sync_part(dm_result *r) {
  dm_file_queue_close(r->behind);
  r->behind = NULL;
  dm_status status = dm_output_sync(r->output, NULL);
  status = dm_status_first(status, dm_output_close(r->output));
  r->output = NULL;
  return status;
}

static dm_status name(dm_run *run, const dm_multiply *job, const dm_setup *setup,
                      const dm_verdict *verdict, dm_result *r) {
  dm_attributes *attributes = malloc(sizeof *attributes);
  if (!attributes) return dm_fail(DM_E_FIT, "no memory for the provenance");
  dm_status status = dm_provenance_of(job, setup, run, verdict, attributes);
  if (!status)
    status = dm_commit_file(run, &r->file, &r->form, job->engine.io_threads, attributes, NULL, 0,
                            job->force, &r->is_named);
  /* If the file could not get its form, the only copy of the result stays. */
  r->stays = status && (dm_output_is_chunked(&r->form) || dm_output_is_recast(&r->form));
  free(attributes);
  return status;
}

dm_status dm_result_commit(dm_run *run, const dm_multiply *job, const dm_setup *setup,
                           const dm_verdict *verdict, dm_result *result) {
  DM_TRY(dm_comm_agree(run->world, sync_part(result)));
  return dm_comm_agree(run->world, run->rank == 0 ? name(run, job, setup, verdict, result) : DM_OK);
}

void dm_result_close(dm_run *run, dm_result *result) {
  dm_file_queue_close(result->behind);
  dm_status_free(dm_output_close(result->output));
  if (run->rank == 0 && result->is_made) {
    if (!result->is_named && !result->stays) dm_output_discard(&result->file);
    dm_output_release(&result->file);
  }
  dm_distributed_close(&result->memory);
  *result = (dm_result){0};
}
