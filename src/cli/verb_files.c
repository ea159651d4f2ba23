#include "cli/session.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/element.h"
#include "options/request.h"
#include "programs/generate.h"
#include "programs/info.h"
#include "programs/pairwise.h"
#include "programs/verify_result.h"

/* The parameter of the kind; a parameter of another kind would go unnoticed, so it is rejected. */
static dm_status parameter_of(const dm_call *call, double *parameter) {
  const dm_command_settings *own = &call->own;
  static const struct {
    const char *option;
    dm_kind kind;
  } owners[] = {{"phi", DM_OZAKI}, {"range", DM_INTEGER}, {"value", DM_CONSTANT}};
  const double values[] = {own->phi, (double)own->range, own->value};
  for (int i = 0; i < 3; i++) {
    if ((int)owners[i].kind == own->kind)
      *parameter = values[i];
    else if (dm_cli_given(call, owners[i].option))
      return dm_fail(DM_E_USAGE, "--%s belongs to --kind %s, not to %s", owners[i].option,
                     dm_kind_name(owners[i].kind), dm_kind_name((dm_kind)own->kind));
  }
  return DM_OK;
}

static dm_status check_parameter(const dm_generate *g) {
  const dm_generator *made = &g->generator;
  const bool whole = dm_dtype_is_integer(g->file.dtype);
  if (made->kind != DM_CONSTANT && made->kind != DM_INTEGER) return DM_OK;
  if (fabs(made->parameter) <= dm_dtype_largest(g->file.dtype) &&
      (!whole || made->parameter == floor(made->parameter)))
    return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "%.17g is not a number of type %s", made->parameter,
                         dm_dtype_name(g->file.dtype)),
                 "--type states another type");
}

static dm_status read_settings(const dm_call *call, dm_generate *g) {
  const dm_settings *s = &call->settings;
  const dm_command_settings *own = &call->own;
  g->file.rows = own->rows ? own->rows : own->size;
  g->file.cols = own->cols ? own->cols : own->size;
  if (g->file.rows == 0 || g->file.cols == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "the shape is not stated"),
                   "--rows N --cols N, or --size N for a square matrix");
  g->file.dtype = (dm_dtype)s->type;
  if (g->file.dtype == DM_I64)
    return dm_hint(dm_fail(DM_E_USAGE, "matrices of i64 are results, and are not generated"),
                   "--type i32 generates integers");
  g->file.force = s->force;
  g->file.form = dm_request_form(s);
  g->file.io_threads = dm_request_io_threads(s);
  g->file.write_by = (dm_write_way)own->generate_by;
  g->generator.kind = (dm_kind)own->kind;
  g->generator.seed = (uint64_t)own->seed;
  DM_TRY(parameter_of(call, &g->generator.parameter));
  DM_TRY(check_parameter(g));
  DM_TRY(dm_value_location(call->operands[0], &g->file.out));
  g->file.form.npy = dm_output_is_npy(&g->file.out);
  g->file.form.zarr = dm_output_is_zarr(&g->file.out);
  return dm_output_form_complete(&g->file.form, g->file.dtype, g->file.rows, g->file.cols);
}

static dm_status generate(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)call;
  return dm_generate_run(run, shared, record);
}

int dm_cli_generate(dm_call *call) {
  dm_generate g = {.file.rows = 0};
  dm_status status = read_settings(call, &g), prepared = DM_OK;
  if (status) return dm_cli_finish(call, status);
  if (dm_cli_speaks(call))
    prepared = dm_output_check(&g.file.out, "/a", g.file.force, NULL, 0, NULL, NULL);
  return dm_cli_run_job(call, prepared,
                        &(dm_work){.run = generate, .shared = &g, .bytes = sizeof g});
}

/* ---- info ---- */

/* OPERAND NULL: this program. Findings before an error are printed, too. */
static dm_status verb_files_describe(const dm_call *call, const char *operand) {
  dm_record *record = NULL;
  bool found = false;
  dm_status status = dm_record_new("info", call->command, &record);
  if (status) return status;
  const dm_log log = dm_cli_log(call);
  status = operand ? dm_request_describe(&call->settings, &log, operand, record, &found)
                   : dm_info_program(record);
  if (!status || found) status = dm_status_first(status, dm_cli_publish(call, record));
  dm_record_free(record);
  dm_notes_clear(call->notes); /* the next operand has its own */
  return status;
}

int dm_cli_info(dm_call *call) {
  if (!dm_cli_speaks(call)) return 0; /* only one rank under mpirun */
  dm_status opened = dm_cli_open_reports(call);
  if (opened || call->operand_count == 0)
    return dm_cli_finish(call, opened ? opened : verb_files_describe(call, NULL));
  int first = 0;
  for (int i = 0; i < call->operand_count; i++) {
    const int code = dm_cli_end(call, verb_files_describe(call, call->operands[i]));
    if (first == 0) first = code;
  }
  const int code = dm_cli_finish(call, DM_OK);
  return first ? first : code;
}

/* ---- verify ---- */

static bool is_quick(const dm_call *call) {
  return call->operand_count == 1;
}

static dm_status verb_files_verify(dm_run *run, const dm_call *call, void *shared,
                                   dm_record *record) {
  const dm_engine_options engine = dm_request_engine(&call->settings);
  if (is_quick(call)) return dm_verify_quickly(run, shared, record);
  return dm_is_of_pairs(shared) ? dm_pairwise_verify(run, shared, &engine, record)
                                : dm_verify_run(run, shared, record);
}

int dm_cli_verify(dm_call *call) {
  DM_FREED dm_verify *v = NULL;
  if (call->operand_count == 2) return dm_cli_verify_components(call);
  const dm_log log = dm_cli_log(call);
  dm_status prepared = dm_buffer_table(1, &v);
  if (prepared) return dm_cli_finish(call, prepared);
  if (dm_cli_speaks(call))
    prepared = is_quick(call) ? dm_request_verify_alone(&call->settings, &log, call->operands[0], v)
                              : dm_request_verify(&call->settings, &log, call->operands, v);
  dm_tile_record *tiles = v->tiles; /* V gets overwritten with rank 0's */
  /* the arrays of a reduction point to nothing */
  dm_dataset *const datasets[] = {&v->a, &v->b, &v->c, &v->c0};
  const dm_work work = {.run = verb_files_verify,
                        .shared = v,
                        .bytes = sizeof *v,
                        .datasets = datasets,
                        .dataset_count = 4};
  const int code = dm_cli_run_job(call, prepared, &work);
  for (int i = 0; i < 4; i++) dm_dataset_free(datasets[i]);
  free(tiles);
  return code;
}
