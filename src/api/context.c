/* Contexts: opened and closed, their options, and what the last call left. */
#include "api/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#if DAMIER_MPI
#include "comm/comm_mpi.h"
#endif
#include "comm/team.h"
#include "core/buffer.h"
#include "core/copy.h"
#include "core/notes.h"
#include "core/suggest.h"
#include "core/version.h"

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

dm_status dm_api_enter(dm_api_visit *v, damier_context *context) {
  *v = (dm_api_visit){.gpu = -1};
  dm_plain_numbers_begin(&v->numbers);
  if (!context) return dm_fail(DM_E_USAGE, "the context is NULL");
  if (atomic_flag_test_and_set(&context->busy))
    return dm_hint(dm_fail(DM_E_USAGE, "another call of this context is still running"),
                   "neither the progress function nor another thread may use it meanwhile");
  v->context = context;
  context->numbers = v->numbers;
  if (context->settings.backend != DM_BACKEND_CPU) v->gpu = dm_backend_current_gpu();
  return dm_comm_usable(context->run.world);
}

int dm_api_leave(dm_api_visit *v, dm_status status, damier_error *error) {
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

void dm_api_forget(damier_context *context) {
  free(context->recorded->text);
  free(context->recorded->notes);
  *context->recorded = (dm_recorded){0};
  dm_reduced_kept_free(&context->kept);
  dm_components_result_free(&context->found);
}

static void close_context(damier_context *context) {
  dm_in_place_close(&context->in_place);
  dm_cached_backend_close(&context->opened);
  dm_run_leave(&context->run);
  dm_notes_free(context->run.log.notes);
  dm_api_forget(context);
  free(context->recorded);
  free(context->old_file);
  for (int i = 0; i < DM_USER_VECTORS; i++) free(context->numbers_of[i]);
  free(context);
}

/* ADOPTED: the outcome of getting WORLD. */
static int context_open_in(dm_status adopted, dm_comm *world, damier_context **context,
                           damier_error *error) {
  dm_api_visit v = {.gpu = -1};
  damier_context *new = NULL;
  dm_plain_numbers_begin(&v.numbers);
  dm_status status = adopted ? adopted : new_context(&new);
  if (!status) status = start_context(new, world);
  if (new && !status)
    status =
        dm_comm_agree(new->run.world,
                      context ? DM_OK : dm_fail(DM_E_USAGE, "the address of the context is NULL"));
  if (new &&status) close_context(new);
  if (context) *context = status ? NULL : new;
  return dm_api_leave(&v, status, error);
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
  dm_api_visit v = {.gpu = -1};
  damier_context *new = NULL;
  dm_plain_numbers_begin(&v.numbers);
  dm_status status =
      context ? check_gpus(gpus) : dm_fail(DM_E_USAGE, "the address of the context is NULL");
  if (!status) status = open_team(gpus, &new);
  if (context) *context = status ? NULL : new;
  return dm_api_leave(&v, status, error);
}

void damier_close(damier_context *context) {
  dm_api_visit v;
  dm_status status = context ? dm_api_enter(&v, context) : DM_OK;
  if (!context) return;
  if (v.context) close_all(context);
  v.context = NULL;
  (void)dm_api_leave(&v, status, NULL);
}

void damier_on_progress(damier_context *context,
                        int (*progress)(void *argument, int64_t done, int64_t total),
                        void *argument) {
  dm_api_visit v;
  dm_status status = dm_api_enter(&v, context);
  if (v.context) {
    context->progress = progress;
    context->argument = argument;
  }
  (void)dm_api_leave(&v, status, NULL);
}

const char *dm_api_verb(const dm_stated *stated) {
  if (stated->components) return stated->components;
  if (stated->correlation) return "cor";
  return stated->covariance ? "cov" : stated->gram ? "gram" : "multiply";
}

dm_status dm_api_record(const damier_context *context, dm_record *record) {
  dm_record_notes(record, context->run.log.notes);
  return dm_record_json(record, &context->recorded->text);
}

static dm_status record_due(const damier_context *context) {
  dm_recorded *r = context->recorded;
  dm_record *record;
  r->is_due = false;
  DM_TRY(dm_record_new_at(dm_api_verb(&context->product.stated), context->run.command, r->when,
                          &record));
  dm_in_place_record(&context->in_place, &r->outcome, &context->run, record);
  dm_status status = dm_api_record(context, record);
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
  *array = (damier_array){.of = dm_api_verb(&context->product.stated),
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

void damier_choose_kernels(void) {
  dm_backend_choose_kernels();
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
  dm_api_visit v;
  dm_status status = dm_api_enter(&v, context);
  if (!status) status = set_vector(context, option, of_rows != 0, (dm_dtype)type, count, numbers);
  if (v.context) context->product.is_cached = false;
  return dm_api_leave(&v, status, error);
}

int damier_set(damier_context *context, const char *option, const char *value,
               damier_error *error) {
  dm_api_visit v;
  dm_status status = dm_api_enter(&v, context);
  if (!status) status = set(context, option, value);
  if (v.context) context->product.is_cached = false;
  return dm_api_leave(&v, status, error);
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
  dm_api_visit v;
  dm_status status = dm_api_enter(&v, context);
  if (!status) status = set_old(context, c);
  if (v.context) context->product.is_cached = false;
  return dm_api_leave(&v, status, error);
}
