/* The collective calls of a context: products, components, plans, verification, descriptions. */
#include <stdlib.h>
#include <string.h>

#include "api/library.h"
#include "check/verdict.h"
#include "core/clock.h"
#include "core/notes.h"
#include "programs/info.h"
#include "programs/pairwise.h"
#include "programs/verify_result.h"

/* ---- a call, and its record ---- */

/* Every collective call begins with this. */
static dm_status begin_call(damier_context *context, const dm_call_facts *checked) {
  context->run.born = context->run.lap = dm_now();
  context->asked = 0;
  dm_api_forget(context);
  dm_notes_clear(context->run.log.notes);
  return dm_checks(context, checked);
}

/* On rank 0. */
static dm_status new_record(const damier_context *context, const char *call, dm_record **record) {
  const bool has = context->run.rank == 0;
  return dm_comm_agree(context->run.world,
                       has ? dm_record_new(call, context->run.command, record) : DM_OK);
}

/* Rank 0's record is that of all ranks. */
static dm_status share_record(const damier_context *context) {
  const dm_comm *world = context->run.world;
  char **text = &context->recorded->text;
  int64_t bytes = *text ? (int64_t)strlen(*text) + 1 : 0;
  DM_TRY(dm_comm_broadcast(world, &bytes, sizeof bytes, 0));
  if (bytes == 0) return DM_OK;
  if (context->run.rank > 0) *text = malloc((size_t)bytes);
  DM_TRY(dm_comm_agree(world, *text ? DM_OK : dm_fail(DM_E_FIT, "no memory for the record")));
  return dm_comm_broadcast(world, *text, bytes, 0);
}

/* A failed verification still gets its record. */
static dm_status keep_record(damier_context *context, dm_status status, dm_record *record) {
  const bool has = !status || dm_verdict_is(status); /* the same on all ranks */
  if (record && has) status = dm_status_first(status, dm_api_record(context, record));
  dm_record_free(record);
  return has ? dm_status_first(status, share_record(context)) : status;
}

static dm_status context_plan(dm_api_product *product) {
  dm_record *record = NULL;
  dm_status status = new_record(product->context, "plan", &record);
  if (!status) status = dm_api_product_plan(product, record);
  return keep_record(product->context, status, record);
}

static dm_status context_multiply(dm_api_product *product) {
  dm_recorded *recorded = product->context->recorded;
  dm_record *record = NULL;
  bool taken;
  dm_status status = dm_api_product_in_place(product, &recorded->outcome, &taken);
  if (taken || status) {
    recorded->is_due = taken && (!status || dm_verdict_is(status));
    if (recorded->is_due) recorded->when = time(NULL);
    return status;
  }
  status = new_record(product->context, dm_api_verb(&product->stated), &record);
  if (!status) status = dm_api_product_multiply(product, record);
  return keep_record(product->context, status, record);
}

static dm_status context_work(dm_api_product *product) {
  const dm_stated *stated = &product->stated;
  const dm_call_facts checked = {.call = stated->plan_only ? "plan" : dm_api_verb(stated),
                                 .of_rows = stated->of_rows,
                                 .writes = !stated->plan_only,
                                 .matrices = {product->a, product->b, product->c}};
  DM_TRY(begin_call(product->context, &checked));
  DM_TRY(dm_api_product_inspect(product));
  return product->stated.plan_only ? context_plan(product) : context_multiply(product);
}

static dm_status carry_out(damier_context *context, const dm_stated *stated) {
  dm_api_product *product = &context->product;
  dm_api_product_begin(product, context, stated);
  dm_status status = context_work(product);
  dm_dataset_free(&product->files.a);
  dm_dataset_free(&product->files.b);
  dm_dataset_free(&product->files.c);
  return status;
}

/* A worker has the options of its leader. */
static void take_settings(damier_context *context, const damier_context *leader) {
  if (context == leader) return;
  context->settings = leader->settings;
  context->has_old = leader->has_old;
  if (leader->has_old) context->old = dm_led_part(&leader->old, context->run.rank);
}

/* This rank's parts of the matrices STATED, in a context of several GPUs. */
static dm_status carry_out_parts(damier_context *context, const dm_stated *stated) {
  const damier_matrix *const whole[] = {stated->a, stated->b, stated->c};
  damier_matrix parts[3];
  dm_stated product = *stated;
  for (int i = 0; i < 3; i++)
    if (whole[i]) parts[i] = dm_led_part(whole[i], context->run.rank);
  product.a = whole[0] ? &parts[0] : NULL;
  product.b = whole[1] ? &parts[1] : NULL;
  product.c = whole[2] ? &parts[2] : NULL;
  return carry_out(context, &product);
}

static dm_status check_parts(const damier_context *context, const damier_matrix *m) {
  if (m->parts && m->part_count != context->run.ranks)
    return dm_fail(DM_E_USAGE, "a matrix in %d parts, in a context of %d GPUs", m->part_count,
                   context->run.ranks);
  if (m->parts || m->division == DAMIER_IN_FILE || m->memory != DAMIER_GPU_MEMORY) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_USAGE, "a whole matrix in the memory of one GPU, in a context of several"),
      "state the part of each GPU, or pass host memory");
}

/* Before workers learn of the call. */
static dm_status check_all_parts(const damier_context *context, const dm_stated *stated) {
  const damier_matrix *const all[] = {stated->a, stated->b, stated->c,
                                      context->has_old ? &context->old : NULL};
  for (int i = 0; i < 4; i++) {
    dm_status status = all[i] ? check_parts(context, all[i]) : DM_OK;
    if (!status) continue;
    status->agreed = true; /* one thread calls for all ranks */
    return dm_context(status, "%s", dm_matrix_name(i));
  }
  return DM_OK;
}

static dm_status product_here(damier_context *context, const dm_led_call *call) {
  take_settings(context, call->leader);
  return call->led ? carry_out_parts(context, call->stated) : carry_out(context, call->stated);
}

/* A collective call, by all ranks of CONTEXT. */
static int call_all(damier_context *context, dm_led_call call, damier_error *error) {
  dm_api_visit v;
  dm_status status = dm_api_enter(&v, context);
  call.leader = context;
  if (!status && context->workers && call.stated) status = check_all_parts(context, call.stated);
  if (!status) status = dm_lead(&call);
  return dm_api_leave(&v, status, error);
}

static int run_product(damier_context *context, const dm_stated *stated, damier_error *error) {
  return call_all(context, (dm_led_call){.work = product_here, .stated = stated}, error);
}

int damier_multiply(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                    const damier_matrix *c, damier_error *error) {
  return run_product(context, &(dm_stated){.a = a, .b = b, .c = c}, error);
}

static int with_itself(damier_context *context, const damier_matrix *x, dm_stated stated,
                       damier_error *error) {
  stated.a = stated.b = x;
  stated.gram = true;
  return run_product(context, &stated, error);
}

int damier_gram(damier_context *context, const damier_matrix *x, int of_rows,
                const damier_matrix *c, damier_error *error) {
  return with_itself(context, x, (dm_stated){.c = c, .of_rows = of_rows != 0}, error);
}

int damier_cov(damier_context *context, const damier_matrix *x, int of_rows, const damier_matrix *c,
               damier_error *error) {
  return with_itself(context, x, (dm_stated){.c = c, .of_rows = of_rows != 0, .covariance = true},
                     error);
}

int damier_cor(damier_context *context, const damier_matrix *x, int of_rows, const damier_matrix *c,
               damier_error *error) {
  return with_itself(
      context, x,
      (dm_stated){.c = c, .of_rows = of_rows != 0, .covariance = true, .correlation = true}, error);
}

int damier_pca(damier_context *context, const damier_matrix *x, int of_rows,
               const damier_matrix *result, damier_error *error) {
  return with_itself(
      context, x,
      (dm_stated){.c = result, .of_rows = of_rows != 0, .covariance = true, .components = "pca"},
      error);
}

int damier_svd(damier_context *context, const damier_matrix *x, int of_rows,
               const damier_matrix *result, damier_error *error) {
  return with_itself(context, x,
                     (dm_stated){.c = result, .of_rows = of_rows != 0, .components = "svd"}, error);
}

int damier_cov_two(damier_context *context, const damier_matrix *x, const damier_matrix *y,
                   int of_rows, const damier_matrix *c, damier_error *error) {
  return run_product(
      context, &(dm_stated){.a = x, .b = y, .c = c, .of_rows = of_rows != 0, .covariance = true},
      error);
}

int damier_cor_two(damier_context *context, const damier_matrix *x, const damier_matrix *y,
                   int of_rows, const damier_matrix *c, damier_error *error) {
  return run_product(
      context,
      &(dm_stated){
          .a = x, .b = y, .c = c, .of_rows = of_rows != 0, .covariance = true, .correlation = true},
      error);
}

int damier_plan(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                const damier_matrix *c, damier_error *error) {
  return run_product(context, &(dm_stated){.a = a, .b = b, .c = c, .plan_only = true}, error);
}

static dm_status verify_files(damier_context *context, const damier_matrix *const matrices[3],
                              dm_record *record) {
  const dm_run *run = &context->run;
  const char *const operands[] = {matrices[0]->file, matrices[1]->file, matrices[2]->file};
  dm_verify verify = {.has_c0 = false};
  dm_status status = DM_OK;
  if (run->rank == 0) status = dm_request_verify(&context->settings, &run->log, operands, &verify);
  dm_tile_record *tiles = verify.tiles; /* only valid on rank 0 */
  status = dm_comm_agree(run->world, status);
  if (!status) status = dm_comm_broadcast(run->world, &verify, sizeof verify, 0);
  if (status && run->rank > 0) verify = (dm_verify){.has_c0 = false}; /* no address of rank 0 */
  dm_dataset *const datasets[] = {&verify.a, &verify.b, &verify.c, &verify.c0};
  if (!status) status = dm_datasets_share(run->world, run->rank, datasets, 4);
  const dm_engine_options engine = dm_request_engine(&context->settings);
  if (!status)
    status = dm_is_of_pairs(&verify) ? dm_pairwise_verify(&context->run, &verify, &engine, record)
                                     : dm_verify_run(&context->run, &verify, record);
  for (int i = 0; i < 4; i++) dm_dataset_free(datasets[i]);
  free(tiles);
  return status;
}

static dm_status context_verify(damier_context *context, const damier_matrix *const all[3],
                                dm_record **record) {
  const dm_call_facts checked = {.call = "verify", .matrices = {all[0], all[1], all[2]}};
  DM_TRY(begin_call(context, &checked));
  DM_TRY(new_record(context, checked.call, record));
  for (int i = 0; i < 3; i++)
    if (all[i]->division != DAMIER_IN_FILE)
      return dm_comm_agree(context->run.world,
                           dm_fail(DM_E_USAGE, "only matrices in files can be verified"));
  return verify_files(context, all, *record);
}

static dm_status verify_here(damier_context *context, const dm_led_call *call) {
  dm_record *record = NULL;
  take_settings(context, call->leader);
  dm_status status = context_verify(context, call->files, &record);
  return keep_record(context, status, record);
}

int damier_verify(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                  const damier_matrix *c, damier_error *error) {
  const damier_matrix *const all[] = {a, b, c};
  return call_all(context, (dm_led_call){.work = verify_here, .files = all}, error);
}

/* Without LOCATION describes the library. *found: RECORD is worth keeping even on failure. */
static dm_status context_describe(damier_context *context, const char *location, dm_record *record,
                                  bool *found) {
  const dm_run *run = &context->run;
  dm_status status = DM_OK;
  if (run->rank == 0)
    status = location ? dm_request_describe(&context->settings, &run->log, location, record, found)
                      : dm_info_program(record);
  return dm_comm_agree(run->world, status);
}

static dm_status inform(damier_context *context, const char *location, dm_record **record,
                        bool *useful) {
  const dm_call_facts checked = {.call = "info", .location = location};
  DM_TRY(begin_call(context, &checked));
  DM_TRY(new_record(context, checked.call, record));
  return context_describe(context, location, *record, useful);
}

static dm_status inform_here(damier_context *context, const dm_led_call *call) {
  dm_record *record = NULL;
  bool useful = false;
  take_settings(context, call->leader);
  dm_status status = inform(context, call->location, &record, &useful);
  if (record && status && useful) status = dm_status_first(status, dm_api_record(context, record));
  return keep_record(context, status, record);
}

int damier_info(damier_context *context, const char *location, damier_error *error) {
  return call_all(context, (dm_led_call){.work = inform_here, .location = location}, error);
}
