#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/verdict.h"
#include "comm/adopt.h"
#include "core/clock.h"
#include "core/version.h"
#include "lib/library.h"

/* ---- errors ---- */

/* Reports and frees STATUS. */
static int answer(dm_status status, damier_error *error) {
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

/* ---- contexts ---- */

static void tell_progress(void *argument, int64_t done, int64_t total) {
  damier_context *context = argument;
  if (context->progress && context->progress(context->argument, done, total) != 0)
    context->asked = DM_STOP_BY_CALLER;
}

/* The verb whose options contexts have. */
static const dm_verb multiply_verb = {.name = "multiply", .bit = DM_VERB_MULTIPLY};

static dm_status open_context(MPI_Comm comm, damier_context **context) {
  dm_comm *world;
  damier_context *c = calloc(1, sizeof *c);
  if (!c) return dm_fail(DM_E_FIT, "no memory for a context");
  dm_status status = dm_comm_adopt(comm, &world);
  if (status) {
    free(c);
    return status;
  }
  snprintf(c->call.command, sizeof c->call.command, "libdamier %s", DM_VERSION);
  c->call.verb = &multiply_verb;
  status = dm_run_start_in(&c->run, world, c->call.command);
  c->call.rank = c->run.rank;
  c->run.at = tell_progress;
  c->run.at_context = c;
  c->run.stop = (dm_stop){.on = true, .arrived = &c->asked};
  if (!status) status = dm_cli_defaults(&c->call.settings);
  c->call.settings.quiet = 2;
  *context = c;
  return status;
}

int damier_open(MPI_Comm comm, damier_context **context, damier_error *error) {
  *context = NULL;
  const int code = answer(open_context(comm, context), error);
  if (code != DAMIER_OK) {
    damier_close(*context);
    *context = NULL;
  }
  return code;
}

int damier_open_f(int comm, damier_context **context, damier_error *error) {
  return damier_open(comm < 0 ? MPI_COMM_NULL : MPI_Comm_f2c(comm), context, error);
}

void damier_close(damier_context *context) {
  if (!context) return;
  dm_run_leave(&context->run);
  free(context->record);
  free(context->old_file);
  free(context);
}

void damier_on_progress(damier_context *context,
                        int (*progress)(void *argument, int64_t done, int64_t total),
                        void *argument) {
  context->progress = progress;
  context->argument = argument;
}

const char *damier_record(const damier_context *context) {
  return context->record ? context->record : "";
}

const char *damier_version(void) {
  return DM_VERSION;
}

/* ---- options ---- */

/* Options for the program only: report files, signals, the terminal. */
static bool is_for_programs(const dm_option *option) {
  static const char *const names[] = {"output",        "time-limit", "hang-timeout", "read-by",
                                      "pretend-nodes", "trace",      "dry-run"};
  bool is = option->group == DM_GROUP_REPORT || option->group == DM_GROUP_GENERAL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    is |= strcmp(option->name, names[i]) == 0;
  return is;
}

static const dm_option *find_option(const char *name) {
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *o = &dm_cli_options[i];
    if ((o->verbs & (DM_VERB_MULTIPLY | DM_VERB_VERIFY)) && strcmp(o->name, name) == 0 &&
        !is_for_programs(o))
      return o;
  }
  return NULL;
}

/* Restores the default. */
static dm_status set_default(const dm_option *option, dm_settings *settings) {
  dm_settings *fresh = malloc(sizeof *fresh);
  if (!fresh) return dm_fail(DM_E_FIT, "no memory for settings");
  dm_status status = dm_cli_defaults(fresh);
  if (!status)
    memcpy((char *)settings + option->at, (const char *)fresh + option->at, option->room);
  settings->given[option - dm_cli_options] = false;
  free(fresh);
  return status;
}

static dm_status set(damier_context *context, const char *name, const char *value) {
  dm_settings *settings = &context->call.settings;
  const dm_option *option = find_option(name);
  if (!option)
    return dm_hint(dm_fail(DM_E_USAGE, "there is no option '%s'", name),
                   "'damier multiply --help-all' lists them");
  if (!value && dm_cli_takes_value(option)) return set_default(option, settings);
  DM_TRY(dm_context(option->set(option, value, settings), "option '%s'", name));
  DM_TRY(dm_cli_read_machine(settings));
  settings->given[option - dm_cli_options] = true;
  return DM_OK;
}

int damier_set(damier_context *context, const char *option, const char *value,
               damier_error *error) {
  return answer(set(context, option, value), error);
}

static dm_status set_old(damier_context *context, const damier_matrix *c) {
  free(context->old_file);
  context->old_file = NULL;
  context->has_old = false;
  if (!c) return DM_OK;
  context->old = *c;
  if (c->division == DAMIER_IN_FILE) {
    if (!c->file) return dm_fail(DM_E_USAGE, "the old C is in a file without a name");
    context->old.file = context->old_file = strdup(c->file);
    if (!context->old_file) return dm_fail(DM_E_FIT, "no memory for the name of a file");
  }
  context->has_old = true;
  return DM_OK;
}

int damier_old_c(damier_context *context, const damier_matrix *c, damier_error *error) {
  return answer(set_old(context, c), error);
}

/* ---- work ---- */

static dm_status check_names(const damier_matrix *const all[3]) {
  for (int i = 0; i < 3; i++)
    if (all[i]->division == DAMIER_IN_FILE && !all[i]->file)
      return dm_fail(DM_E_USAGE, "matrix %c is in a file without a name", "ABC"[i]);
  return DM_OK;
}

/* Ranks that disagree would wait for each other. */
static dm_status check_places(const damier_context *context, const damier_matrix *const all[3]) {
  int64_t files[2] = {context->has_old ? 1 + (context->old.division == DAMIER_IN_FILE) : 0};
  for (int i = 0; i < 3; i++) files[0] = 2 * files[0] + (all[i]->division == DAMIER_IN_FILE);
  files[1] = -files[0];
  DM_TRY(dm_comm_agree(context->run.world, check_names(all)));
  DM_TRY(dm_comm_max_i64(context->run.world, files, 2));
  if (files[0] == -files[1]) return DM_OK;
  dm_status status = dm_fail(DM_E_USAGE, "the ranks do not agree on which matrices are in files");
  status->agreed = true;
  return status;
}

static dm_status begin_record(damier_context *context, const char *verb, dm_record **record) {
  context->run.born = context->run.lap = dm_now();
  context->asked = 0;
  free(context->record);
  context->record = NULL;
  const bool records = context->run.rank == 0;
  return dm_comm_agree(context->run.world,
                       records ? dm_record_new(verb, context->run.command, record) : DM_OK);
}

static dm_status begin(dm_posed *posed, dm_record **record) {
  const damier_matrix *const all[] = {posed->a, posed->b, posed->c};
  DM_TRY(begin_record(posed->context, posed->plan_only ? "plan" : "multiply", record));
  DM_TRY(check_places(posed->context, all));
  return dm_posed_look(posed);
}

/* A failed verification still gets its record. */
static dm_status keep_record(damier_context *context, dm_status status, dm_record *record) {
  if (record && (!status || dm_verdict_is(status)))
    status = dm_status_first(status, dm_record_json(record, &context->record));
  dm_record_free(record);
  return status;
}

static dm_status work(dm_posed *posed) {
  dm_record *record = NULL;
  dm_status status = begin(posed, &record);
  if (!status)
    status = posed->plan_only ? dm_posed_plan(posed, record) : dm_posed_multiply(posed, record);
  return keep_record(posed->context, status, record);
}

static int pose(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                const damier_matrix *c, bool plan_only, damier_error *error) {
  dm_posed *posed = calloc(1, sizeof *posed); /* too large for a caller's stack */
  if (!posed) return answer(dm_fail(DM_E_FIT, "no memory for a product"), error);
  posed->context = context;
  posed->a = a;
  posed->b = b;
  posed->c = c;
  posed->plan_only = plan_only;
  const int code = answer(work(posed), error);
  free(posed);
  return code;
}

int damier_multiply(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                    const damier_matrix *c, damier_error *error) {
  return pose(context, a, b, c, false, error);
}

int damier_plan(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                const damier_matrix *c, damier_error *error) {
  return pose(context, a, b, c, true, error);
}

static dm_status verify(damier_context *context, const damier_matrix *const all[3],
                        dm_record *record) {
  DM_TRY(check_places(context, all));
  for (int i = 0; i < 3; i++)
    if (all[i]->division != DAMIER_IN_FILE)
      return dm_comm_agree(context->run.world,
                           dm_fail(DM_E_USAGE, "only matrices in files can be verified"));
  return dm_verify_in_files(context, all, record);
}

int damier_verify(damier_context *context, const damier_matrix *a, const damier_matrix *b,
                  const damier_matrix *c, damier_error *error) {
  const damier_matrix *const all[] = {a, b, c};
  dm_record *record = NULL;
  dm_status status = begin_record(context, "verify", &record);
  if (!status) status = verify(context, all, record);
  return answer(keep_record(context, status, record), error);
}

int damier_info(damier_context *context, const char *location, damier_error *error) {
  dm_record *record = NULL;
  bool told = false;
  dm_status status = begin_record(context, "info", &record);
  if (!status) status = dm_tell_of(context, location, record, &told);
  if (record && status && told)
    status = dm_status_first(status, dm_record_json(record, &context->record));
  return answer(keep_record(context, status, record), error);
}

/* ---- matrices ---- */

damier_matrix damier_file(const char *location) {
  return (damier_matrix){.division = DAMIER_IN_FILE, .file = location};
}

static damier_matrix in_rows(damier_type type, int64_t rows, int64_t cols, void *data,
                             int64_t stride) {
  return (damier_matrix){.type = type,
                         .rows = rows,
                         .cols = cols,
                         .data = data,
                         .row_stride = stride ? stride : cols,
                         .col_stride = 1};
}

damier_matrix damier_by_rows(damier_type type, int64_t rows, int64_t cols, int64_t own_rows,
                             void *data, int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_BY_ROWS;
  matrix.own_rows = own_rows;
  return matrix;
}

damier_matrix damier_on_one(damier_type type, int64_t rows, int64_t cols, int rank, void *data,
                            int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_ON_ONE;
  matrix.rank = rank;
  return matrix;
}

/* desc: type, context, m, n, mb, nb, rsrc, csrc, lld (ScaLAPACK Users' Guide, section 4.3.3). */
damier_matrix damier_scalapack(damier_type type, const int desc[9], int grid_rows, int grid_cols,
                               int column_major, void *data) {
  return (damier_matrix){.division = DAMIER_BLOCK_CYCLIC,
                         .type = type,
                         .rows = desc[2],
                         .cols = desc[3],
                         .data = data,
                         .row_stride = 1,
                         .col_stride = desc[8],
                         .grid_rows = grid_rows,
                         .grid_cols = grid_cols,
                         .column_major = column_major,
                         .row_block = desc[4],
                         .col_block = desc[5],
                         .first_row = desc[6],
                         .first_col = desc[7]};
}

damier_matrix damier_in_gpu(damier_matrix matrix, void *stream) {
  matrix.memory = DAMIER_GPU_MEMORY;
  matrix.stream = stream;
  return matrix;
}
