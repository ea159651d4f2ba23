#include <stdlib.h>
#include <string.h>

#include "cli/request.h"
#include "cli/session.h"
#include "job/verify.h"

static dm_given what_is_given(const dm_settings *s) {
  return (dm_given){
      .op_a = dm_cli_given(s, "op-a"),
      .op_b = dm_cli_given(s, "op-b"),
      .alpha = dm_cli_given(s, "alpha"),
      .beta = dm_cli_given(s, "beta"),
      .type = dm_cli_given(s, "type"),
      .compute = dm_cli_given(s, "compute"),
      .c0 = dm_cli_given(s, "c"),
  };
}

static dm_status look_at_old_c(const dm_call *call, const dm_location *recorded, dm_verify *v) {
  const dm_settings *s = &call->settings;
  const double *beta = v->equation.beta;
  if (beta[0] == 0.0 && beta[1] == 0.0) return DM_OK;
  const dm_location *at = dm_cli_given(s, "c") ? &s->old_c : recorded;
  if (at->file[0] == '\0')
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but the old C is not known"),
                   "--c FILE.h5:/dataset names it");
  v->has_c0 = true;
  DM_TRY(dm_cli_look_at(call, at, &v->c0, NULL));
  if (v->c0.device != v->c.device || v->c0.inode != v->c.inode ||
      strcmp(v->c0.at.dataset, v->c.at.dataset) != 0)
    return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "the old C that beta was applied to was replaced by this C"),
                 "--c FILE.h5:/dataset names a copy of it, if there is one");
}

static dm_status prepare_with(const dm_call *call, dm_verify *v, dm_attributes *provenance) {
  const dm_settings *s = &call->settings;
  dm_location old_c = {.file = ""};
  dm_given given = what_is_given(s);
  dm_problem problem;
  DM_TRY(dm_cli_look(call, call->operands[0], &v->a, NULL));
  DM_TRY(dm_cli_look(call, call->operands[1], &v->b, NULL));
  DM_TRY(dm_cli_look(call, call->operands[2], &v->c, provenance));
  v->equation = dm_cli_equation(s);
  v->equation.type_c = v->c.dtype;
  v->equation.rounds = true; /* as multiply was told to */
  v->full = s->full;
  v->allow_unchecked = s->allow_unchecked;
  v->io_threads = dm_cli_io_threads(s);
  DM_TRY(dm_verify_complete(v, &given, provenance, &old_c));
  DM_TRY(look_at_old_c(call, &old_c, v));
  return dm_problem_of(&v->a, &v->b, v->has_c0 ? &v->c0 : NULL, &v->equation, &problem);
}

dm_status dm_cli_verify_job(const dm_call *call, dm_verify *v) {
  dm_attributes *provenance = calloc(1, sizeof *provenance);
  if (!provenance) return dm_fail(DM_E_FIT, "no memory for the provenance of C");
  dm_status status = prepare_with(call, v, provenance);
  free(provenance);
  return status;
}

static dm_status verify(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)call;
  return dm_verify_run(run, shared, record);
}

int dm_cli_verify(dm_call *call) {
  dm_verify v = {.has_c0 = false};
  dm_status prepared = dm_cli_ramp(call) ? dm_cli_verify_job(call, &v) : DM_OK;
  return dm_cli_run_job(call, prepared, &(dm_work){.run = verify, .shared = &v, .bytes = sizeof v});
}
