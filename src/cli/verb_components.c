#include <string.h>

#include "cli/session.h"
#include "core/buffer.h"
#include "options/request.h"
#include "programs/components.h"

static dm_status run_components(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  DM_FREED dm_components *job = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &job)));
  DM_TRY(dm_comm_agree(run->world, dm_request_components_job(&call->settings, shared, job)));
  if (!((const dm_product_files *)shared)->done)
    return call->own.dry_run ? dm_components_plan(run, job, record)
                             : dm_components_run(run, job, NULL, record);
  dm_components_done(run, job, record);
  return DM_OK;
}

/* Settings are those of a product of X with itself. */
static int components(dm_call *call, bool svd) {
  DM_FREED dm_product_files *f = NULL;
  dm_request_components(&call->settings, call->own.of_rows != 0, svd);
  dm_status status = dm_buffer_table(1, &f);
  if (!status && !call->own.dry_run && !dm_cli_given(call, "output"))
    status = dm_hint(dm_fail(DM_E_USAGE, "no output is named"), "-o P.h5 names it");
  if (status) return dm_cli_finish(call, status);
  const dm_log log = dm_cli_log(call);
  dm_status prepared = DM_OK;
  if (dm_cli_speaks(call))
    prepared = dm_request_inspect_components(&call->settings, &log, call->operands[0],
                                             dm_cli_given(call, "output"), f);
  dm_dataset *const datasets[] = {&f->a, &f->b};
  const int code = dm_cli_run_job(call, prepared,
                                  &(dm_work){.run = run_components,
                                             .shared = f,
                                             .bytes = sizeof *f,
                                             .datasets = datasets,
                                             .dataset_count = 2,
                                             .threads = 1});
  for (int i = 0; i < 2; i++) dm_dataset_free(datasets[i]);
  return code;
}

int dm_cli_plan_components(dm_call *call) {
  const bool svd = strcmp(call->operands[0], "svd") == 0;
  const char *operands[] = {call->operand_count == 2 ? call->operands[1] : NULL, NULL};
  if (!operands[0])
    return dm_cli_finish(call, dm_hint(dm_fail(DM_E_USAGE, "components are planned for a file"),
                                       "damier plan pca X.h5 --rank K"));
  call->operands = operands;
  call->operand_count = 1;
  call->own.dry_run = true;
  return components(call, svd);
}

int dm_cli_pca(dm_call *call) {
  return components(call, false);
}

int dm_cli_svd(dm_call *call) {
  return components(call, true);
}

/* ---- components in a file ---- */

typedef struct verb_components_found {
  dm_settings settings; /* with what the file states */
  dm_product_files files;
  dm_components_stored stored;
} verb_components_found;

static dm_status verify_components(dm_run *run, const dm_call *call, void *shared,
                                   dm_record *record) {
  const verb_components_found *f = shared;
  (void)call;
  DM_FREED dm_components *job = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &job)));
  DM_TRY(dm_comm_agree(run->world, dm_request_components_job(&f->settings, &f->files, job)));
  return dm_components_verify(run, job, &f->stored, record);
}

int dm_cli_verify_components(dm_call *call) {
  DM_FREED verb_components_found *f = NULL;
  dm_status prepared = dm_buffer_table(1, &f);
  if (prepared) return dm_cli_finish(call, prepared);
  const dm_log log = dm_cli_log(call);
  f->settings = call->settings;
  if (dm_cli_speaks(call))
    prepared =
        dm_request_verify_components(&f->settings, &log, call->operands, &f->files, &f->stored);
  dm_dataset *const datasets[] = {&f->files.a, &f->files.b, &f->stored.components,
                                  &f->stored.singular_values};
  const dm_work work = {.run = verify_components,
                        .shared = f,
                        .bytes = sizeof *f,
                        .datasets = datasets,
                        .dataset_count = 4};
  const int code = dm_cli_run_job(call, prepared, &work);
  for (int i = 0; i < 4; i++) dm_dataset_free(datasets[i]);
  return code;
}
