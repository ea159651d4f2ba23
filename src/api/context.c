#include "api/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "check/verdict.h"
#if DAMIER_MPI
#include "comm/comm_mpi.h"
#endif
#include "comm/team.h"
#include "core/buffer.h"
#include "core/clock.h"
#include "core/copy.h"
#include "core/notes.h"
#include "core/suggest.h"
#include "core/version.h"
#include "engine/dataset_input.h"
#include "programs/info.h"
#include "programs/pairwise.h"
#include "programs/verify_result.h"

/* ---- errors ---- */

/* Reports and frees STATUS. */
static int context_answer(dm_status status, damier_error *error) {
  const int code = status ? (int)status->code : DAMIER_OK;
  if (error) {
    *error = (damier_error){.code = code, .agreed = 1, .rank = -1};
    if (status) {
      error->agreed = status->agreed;
      error->rank = status->rank;
      snprintf(error->message, sizeof error->message, "%s", status->message);
      snprintf(error->hint, sizeof error->hint, "%s", status->hint);
    }
  }
  dm_status_free(status);
  return code;
}

/* ---- calls ---- */

/* A call of a function of a context. */
typedef struct context_visit {
  damier_context *context; /* NULL: it was refused */
  dm_plain_numbers numbers;
  int gpu; /* that the caller's thread has selected; -1: none */
} context_visit;

/* Other ranks do not know if this fails. */
static dm_status enter(context_visit *v, damier_context *context) {
  *v = (context_visit){.gpu = -1};
  dm_plain_numbers_begin(&v->numbers);
  if (!context) return dm_fail(DM_E_USAGE, "the context is NULL");
  if (atomic_flag_test_and_set(&context->busy))
    return dm_hint(dm_fail(DM_E_USAGE, "another call of this context is still running"),
                   "neither the progress function nor another thread may use it meanwhile");
  v->context = context;
  context->numbers = v->numbers;
  if (strcmp(dm_chosen(&context->settings, "backend"), "cpu") != 0)
    v->gpu = dm_backend_current_gpu();
  return dm_comm_usable(context->run.world);
}

static int context_leave(context_visit *v, dm_status status, damier_error *error) {
  const int code = context_answer(status, error);
  if (v->context) atomic_flag_clear(&v->context->busy);
  dm_plain_numbers_end(&v->numbers);
  dm_backend_select_gpu(v->gpu);
  return code;
}

/* ---- contexts ---- */

/* The caller's function runs in the caller's locale. */
static int ask_caller(const damier_context *context, int64_t done, int64_t total) {
  const locale_t plain = uselocale((locale_t)0);
  if (context->numbers.plain) (void)uselocale(context->numbers.before);
  const int answer = context->progress(context->argument, done, total);
  (void)uselocale(plain);
  return answer;
}

static void context_report_progress(void *argument, int64_t done, int64_t total) {
  damier_context *context = argument;
  if (context->progress && ask_caller(context, done, total) != 0)
    context->asked = DM_STOP_BY_CALLER;
}

static dm_status new_context(damier_context **context) {
  damier_context *c = calloc(1, sizeof *c);
  if (c) c->recorded = calloc(1, sizeof *c->recorded);
  *context = c;
  if (c && c->recorded) return DM_OK;
  free(c);
  return dm_fail(DM_E_FIT, "no memory for a context");
}

/* Collective. C owns WORLD, even after an error. */
static dm_status start_context(damier_context *c, dm_comm *world) {
  dm_status status = dm_run_start_in(&c->run, world, "libdamier " DM_VERSION);
  c->run.log.notes = dm_notes_new();
  c->run.on_progress = context_report_progress;
  c->run.progress_context = c;
  c->run.stop = (dm_stop){.on = true, .arrived = &c->asked};
  return status ? status : dm_settings_defaults(&c->settings);
}

static dm_status open_context(dm_comm *world, damier_context **context) {
  DM_TRY(new_context(context));
  return start_context(*context, world);
}

static void forget_record(damier_context *context) {
  free(context->recorded->text);
  free(context->recorded->notes);
  *context->recorded = (dm_recorded){0};
}

/* What the last call left for the caller. */
static void forget_results(damier_context *context) {
  forget_record(context);
  dm_reduced_kept_free(&context->kept);
  dm_components_result_free(&context->found);
}

static void close_context(damier_context *context) {
  dm_in_place_close(&context->in_place);
  dm_kept_backend_close(&context->opened);
  dm_run_leave(&context->run);
  dm_notes_free(context->run.log.notes);
  forget_results(context);
  free(context->recorded);
  free(context->old_file);
  for (int i = 0; i < DM_USER_VECTORS; i++) free(context->numbers_of[i]);
  free(context);
}

/* ADOPTED: the outcome of getting WORLD. */
static int context_open_in(dm_status adopted, dm_comm *world, damier_context **context,
                           damier_error *error) {
  context_visit v = {.gpu = -1};
  damier_context *new = NULL;
  dm_plain_numbers_begin(&v.numbers);
  dm_status status = adopted ? adopted : open_context(world, &new);
  if (new && !status)
    status =
        dm_comm_agree(new->run.world,
                      context ? DM_OK : dm_fail(DM_E_USAGE, "the address of the context is NULL"));
  if (new &&status) close_context(new);
  if (context) *context = status ? NULL : new;
  return context_leave(&v, status, error);
}

#if DAMIER_MPI
int damier_open(MPI_Comm comm, damier_context **context, damier_error *error) {
  dm_comm *world = NULL;
  dm_status adopted = dm_comm_adopt(comm, &world);
  return context_open_in(adopted, world, context, error);
}
#endif

int damier_open_f(int comm, damier_context **context, damier_error *error) {
  dm_comm *world = NULL;
  dm_status adopted = dm_comm_adopt_fortran(comm, &world);
  return context_open_in(adopted, world, context, error);
}

int damier_open_local(damier_context **context, damier_error *error) {
  dm_comm *world = NULL;
  dm_status adopted = dm_comm_take_alone(&world);
  return context_open_in(adopted, world, context, error);
}

/* ---- several GPUs in this process ---- */

static dm_status start_here(damier_context *context, const dm_led_call *call) {
  int rank = 0;
  while (call->led[rank] != context) rank++;
  dm_status status = start_context(context, call->worlds[rank]);
  context->run.gpu = rank;
  return status;
}

static dm_status close_here(damier_context *context, const dm_led_call *call) {
  (void)call;
  close_context(context);
  return DM_OK;
}

static dm_status check_gpus(int gpus) {
  dm_gpu_list list;
  if (gpus < 1 || gpus > DM_GPUS) return dm_fail(DM_E_USAGE, "a context cannot have %d GPUs", gpus);
  dm_backend_gpus(&list);
  if (gpus == 1 || gpus <= list.count) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_DEVICE, "%d GPUs are more than the %d that this process sees", gpus, list.count),
      "nvidia-smi -L lists GPUs; CUDA_VISIBLE_DEVICES may hide some");
}

/* Contexts of all ranks; on failure some memory is not freed. */
static dm_status open_team(int gpus, damier_context **context) {
  dm_comm *worlds[DM_GPUS];
  damier_context *c;
  DM_TRY(dm_team_worlds(gpus, worlds));
  DM_TRY(new_context(&c));
  c->led = calloc((size_t)gpus, sizeof(damier_context *));
  if (!c->led) return dm_fail(DM_E_FIT, "no memory for a context");
  c->led[0] = c;
  for (int r = 1; r < gpus; r++) DM_TRY(new_context(&c->led[r]));
  DM_TRY(dm_workers_new(gpus, &c->workers));
  *context = c;
  return dm_lead(&(dm_led_call){.leader = c, .work = start_here, .worlds = worlds});
}

static void close_all(damier_context *context) {
  dm_crew *workers = context->workers;
  damier_context **led = context->led;
  dm_status_free(dm_lead(&(dm_led_call){.leader = context, .work = close_here}));
  dm_crew_free(workers);
  free(led);
}

int damier_open_gpus(int gpus, damier_context **context, damier_error *error) {
  if (gpus == 1) return damier_open_local(context, error);
  context_visit v = {.gpu = -1};
  damier_context *new = NULL;
  dm_plain_numbers_begin(&v.numbers);
  dm_status status =
      context ? check_gpus(gpus) : dm_fail(DM_E_USAGE, "the address of the context is NULL");
  if (!status) status = open_team(gpus, &new);
  if (context) *context = status ? NULL : new;
  return context_leave(&v, status, error);
}

void damier_close(damier_context *context) {
  context_visit v;
  dm_status status = context ? enter(&v, context) : DM_OK;
  if (!context) return;
  if (v.context) close_all(context);
  v.context = NULL;
  (void)context_leave(&v, status, NULL);
}

void damier_on_progress(damier_context *context,
                        int (*progress)(void *argument, int64_t done, int64_t total),
                        void *argument) {
  context_visit v;
  dm_status status = enter(&v, context);
  if (v.context) {
    context->progress = progress;
    context->argument = argument;
  }
  (void)context_leave(&v, status, NULL);
}

/* The verb of the command that makes the same product. */
static const char *context_verb_of(const dm_stated *stated) {
  if (stated->components) return stated->components;
  if (stated->correlation) return "cor";
  return stated->covariance ? "cov" : stated->gram ? "gram" : "multiply";
}

static dm_status record_text(const damier_context *context, dm_record *record) {
  dm_record_notes(record, context->run.log.notes);
  return dm_record_json(record, &context->recorded->text);
}

static dm_status record_due(const damier_context *context) {
  dm_recorded *r = context->recorded;
  dm_record *record;
  r->is_due = false;
  DM_TRY(dm_record_new_at(context_verb_of(&context->product.stated), context->run.command, r->when,
                          &record));
  dm_in_place_record(&context->in_place, &r->outcome, &context->run, record);
  dm_status status = record_text(context, record);
  dm_record_free(record);
  return status;
}

const char *damier_record(const damier_context *context) {
  if (!context) return "";
  if (context->recorded->is_due) {
    dm_plain_numbers numbers;
    dm_plain_numbers_begin(&numbers);
    dm_status_free(record_due(context)); /* without memory there is none */
    dm_plain_numbers_end(&numbers);
  }
  return context->recorded->text ? context->recorded->text : "";
}

static int found_array(const damier_context *context, int index, damier_array *array) {
  const dm_array *found = &context->found.arrays[index];
  *array = (damier_array){.of = context_verb_of(&context->product.stated),
                          .name = found->name,
                          .type = (damier_type)found->dtype,
                          .rows = found->rows,
                          .cols = found->cols,
                          .data = found->data};
  return 1;
}

int damier_kept_array(const damier_context *context, int index, damier_array *array) {
  if (!context || !array || index < 0) return 0;
  if (index < context->found.count) return found_array(context, index, array);
  if (index >= context->kept.count) return 0;
  const dm_array *kept = &context->kept.arrays[index].array;
  const bool whole = kept->dtype == DM_DTYPE_NONE;
  *array = (damier_array){.of = context->kept.arrays[index].of,
                          .name = kept->name,
                          .whole = whole,
                          .type = whole ? DAMIER_F64 : (damier_type)kept->dtype,
                          .rows = kept->rows,
                          .cols = kept->cols,
                          .data = kept->data};
  return 1;
}

const char *damier_warnings(const damier_context *context) {
  if (!context) return "";
  dm_recorded *r = context->recorded;
  if (!r->notes) r->notes = dm_notes_join(context->run.log.notes, "\n");
  return r->notes ? r->notes : "";
}

const char *damier_version(void) {
  return DM_VERSION;
}

/* ---- options ---- */

static dm_status no_option(const char *name) {
  const char *names[DM_OPTIONS];
  int count = 0;
  for (int i = 0; i < dm_option_count; i++)
    if (dm_options[i].owner == DM_OF_PRODUCT) names[count++] = dm_options[i].name;
  const int nearest = dm_closest(name, names, count);
  dm_status status = dm_fail(DM_E_USAGE, "there is no option '%s'", name);
  return nearest < 0 ? dm_hint(status, "'damier multiply --help-all' lists them")
                     : dm_hint(status, "did you mean '%s'?", names[nearest]);
}

static dm_status find_option(const char *name, const dm_option **option) {
  if (!name) return dm_fail(DM_E_USAGE, "the name of the option is NULL");
  *option = dm_option_find(name);
  return *option && (*option)->owner == DM_OF_PRODUCT ? DM_OK : no_option(name);
}

/* NUMBERS, or NULL, replace those in memory. */
static void own_numbers(damier_context *context, const dm_option *option, double *numbers) {
  const int vector = dm_option_vector(option);
  if (vector < 0) return;
  free(context->numbers_of[vector]);
  context->numbers_of[vector] = numbers;
}

static dm_status set(damier_context *context, const char *name, const char *text) {
  dm_settings *settings = &context->settings;
  const dm_option *option;
  DM_TRY(find_option(name, &option));
  dm_status status = !text && !dm_value_is_flag(&option->value)
                         ? dm_option_restore(option, settings)
                         : dm_context(dm_option_take(option, text, settings), "option '%s'", name);
  if (!status) own_numbers(context, option, NULL);
  return status;
}

/* A copy of the caller's NUMBERS as f64. */
static dm_status copy_numbers(dm_dtype type, int64_t count, const void *numbers, double **copy) {
  if (count < 1 || count > INT64_MAX / 16) /* also in bytes */
    return dm_fail(DM_E_USAGE, "%lld is not a number of elements", (long long)count);
  if ((int)type < 0 || type > (dm_dtype)DAMIER_I32 || dm_dtype_is_complex(type))
    return dm_fail(DM_E_USAGE, "the numbers are not of a real type");
  DM_TRY(dm_buffer_alloc(count * (int64_t)sizeof(double), (void **)copy));
  dm_copy(dm_view_row_major(*copy, DM_F64, count, 1),
          dm_view_row_major((void *)(uintptr_t)numbers, type, count, 1), false);
  return DM_OK;
}

static dm_status set_vector(damier_context *context, const char *name, bool of_rows, dm_dtype type,
                            int64_t count, const void *numbers) {
  const dm_option *option;
  double *copy;
  DM_TRY(find_option(name, &option));
  if (dm_option_vector(option) < 0)
    return dm_hint(dm_fail(DM_E_USAGE, "option '%s' takes no vector", name),
                   "weights, center-a, center-b, scale-a and scale-b do");
  if (!numbers) return dm_fail(DM_E_USAGE, "option '%s': the numbers are NULL", name);
  DM_TRY(dm_context(copy_numbers(type, count, numbers, &copy), "option '%s'", name));
  own_numbers(context, option, copy);
  dm_option_take_numbers(option, of_rows, &(dm_numbers){copy, count}, &context->settings);
  return DM_OK;
}

int damier_set_vector(damier_context *context, const char *option, int of_rows, damier_type type,
                      int64_t count, const void *numbers, damier_error *error) {
  context_visit v;
  dm_status status = enter(&v, context);
  if (!status) status = set_vector(context, option, of_rows != 0, (dm_dtype)type, count, numbers);
  if (v.context) context->product.is_kept = false;
  return context_leave(&v, status, error);
}

int damier_set(damier_context *context, const char *option, const char *value,
               damier_error *error) {
  context_visit v;
  dm_status status = enter(&v, context);
  if (!status) status = set(context, option, value);
  if (v.context) context->product.is_kept = false;
  return context_leave(&v, status, error);
}

static dm_status set_old(damier_context *context, const damier_matrix *c) {
  char *file = NULL;
  if (c && c->parts)
    return dm_hint(dm_fail(DM_E_USAGE, "the old C is in parts"), "copy it to C before the call");
  if (c && c->division == DAMIER_IN_FILE) {
    if (!c->file) return dm_fail(DM_E_USAGE, "the old C is in a file without a name");
    file = strdup(c->file);
    if (!file) return dm_fail(DM_E_FIT, "no memory for the name of a file");
  }
  free(context->old_file);
  context->old_file = file;
  context->has_old = c != NULL;
  if (c) context->old = *c;
  context->old.file = file;
  return DM_OK;
}

int damier_old_c(damier_context *context, const damier_matrix *c, damier_error *error) {
  context_visit v;
  dm_status status = enter(&v, context);
  if (!status) status = set_old(context, c);
  if (v.context) context->product.is_kept = false;
  return context_leave(&v, status, error);
}

/* ---- work ---- */

/* Every collective call begins with this. */
static dm_status begin_call(damier_context *context, const dm_call_checked *checked) {
  context->run.born = context->run.lap = dm_now();
  context->asked = 0;
  forget_results(context);
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
  if (record && has) status = dm_status_first(status, record_text(context, record));
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
  status = new_record(product->context, context_verb_of(&product->stated), &record);
  if (!status) status = dm_api_product_multiply(product, record);
  return keep_record(product->context, status, record);
}

static dm_status context_work(dm_api_product *product) {
  const dm_stated *stated = &product->stated;
  const dm_call_checked checked = {.call = stated->plan_only ? "plan" : context_verb_of(stated),
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

static bool is_on_gpu(const damier_matrix *m) {
  return m->division != DAMIER_IN_FILE && m->memory == DAMIER_GPU_MEMORY;
}

static dm_status check_parts(const damier_context *context, const damier_matrix *m) {
  if (m->parts && m->part_count != context->run.ranks)
    return dm_fail(DM_E_USAGE, "a matrix in %d parts, in a context of %d GPUs", m->part_count,
                   context->run.ranks);
  if (m->parts || !is_on_gpu(m)) return DM_OK;
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
  context_visit v;
  dm_status status = enter(&v, context);
  call.leader = context;
  if (!status && context->workers && call.stated) status = check_all_parts(context, call.stated);
  if (!status) status = dm_lead(&call);
  return context_leave(&v, status, error);
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
  const dm_call_checked checked = {.call = "verify", .matrices = {all[0], all[1], all[2]}};
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
  const dm_call_checked checked = {.call = "info", .location = location};
  DM_TRY(begin_call(context, &checked));
  DM_TRY(new_record(context, checked.call, record));
  return context_describe(context, location, *record, useful);
}

static dm_status inform_here(damier_context *context, const dm_led_call *call) {
  dm_record *record = NULL;
  bool useful = false;
  take_settings(context, call->leader);
  dm_status status = inform(context, call->location, &record, &useful);
  if (record && status && useful) status = dm_status_first(status, record_text(context, record));
  return keep_record(context, status, record);
}

int damier_info(damier_context *context, const char *location, damier_error *error) {
  return call_all(context, (dm_led_call){.work = inform_here, .location = location}, error);
}
