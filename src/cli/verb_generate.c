#include "cli/session.h"
#include "core/element.h"
#include "options/request.h"
#include "product/generate.h"

/* The parameter of the kind; a parameter of another kind would go unnoticed, so it is rejected. */
static dm_status parameter_of(const dm_call *call, double *parameter) {
  const dm_cli_settings *own = &call->own;
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

static dm_status read_settings(const dm_call *call, dm_generate *g) {
  const dm_settings *s = &call->settings;
  const dm_cli_settings *own = &call->own;
  g->rows = own->rows ? own->rows : own->size;
  g->cols = own->cols ? own->cols : own->size;
  if (g->rows == 0 || g->cols == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "the shape is not stated"),
                   "--rows N --cols N, or --size N for a square matrix");
  g->dtype = (dm_dtype)s->type;
  g->force = s->force;
  g->form = dm_request_form(s);
  g->io_threads = dm_request_io_threads(s);
  g->write_by = (dm_write_way)own->generate_by;
  g->generator.kind = (dm_kind)own->kind;
  g->generator.seed = (uint64_t)own->seed;
  DM_TRY(parameter_of(call, &g->generator.parameter));
  DM_TRY(dm_value_location(call->operands[0], &g->out));
  g->form.npy = dm_output_is_npy(&g->out);
  return dm_output_form_complete(&g->form, g->dtype, g->rows, g->cols);
}

static dm_status generate(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)call;
  return dm_generate_run(run, shared, record);
}

int dm_cli_generate(dm_call *call) {
  dm_generate g = {.rows = 0};
  dm_status status = read_settings(call, &g), prepared = DM_OK;
  if (status) return dm_cli_finish(call, status);
  if (dm_cli_ramp(call)) prepared = dm_output_check(&g.out, "/a", g.force, NULL, 0, NULL);
  return dm_cli_run_job(call, prepared,
                        &(dm_work){.run = generate, .shared = &g, .bytes = sizeof g});
}
