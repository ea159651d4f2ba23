#include "cli/request.h"
#include "cli/session.h"
#include "io/pack.h"

/* What rank 0 found out about the files. */
typedef struct files {
  dm_dataset a, b, c;
  bool has_c;
  dm_location out;
} files;

/* What no file needs to be opened for: known to every rank. */
static dm_status check(const dm_call *call, files *f) {
  if (!dm_cli_given(&call->settings, "output"))
    return dm_hint(dm_fail(DM_E_USAGE, "no output is named"), "-o C.h5:/c names it");
  return dm_cli_check_beta(call, &f->has_c);
}

static dm_status prepare(const dm_call *call, files *f) {
  const dm_settings *s = &call->settings;
  DM_TRY(dm_cli_look(call, call->operands[0], &f->a, NULL));
  DM_TRY(dm_cli_look(call, call->operands[1], &f->b, NULL));
  if (f->has_c) DM_TRY(dm_cli_look_at(call, &s->old_c, &f->c, NULL));
  /* Posed here only to refuse what does not fit together before anything is started. */
  dm_problem problem;
  dm_equation equation = dm_cli_equation(s);
  const dm_dataset *old_c = f->has_c ? &f->c : NULL;
  DM_TRY(dm_problem_of(&f->a, &f->b, old_c, &equation, &problem));
  const dm_dataset inputs[] = {f->a, f->b};
  f->out = s->output;
  DM_TRY(dm_output_check(&f->out, "/c", s->force, inputs, 2, old_c));
  dm_output_form form = dm_cli_form(s);
  DM_TRY(dm_output_form_complete(&form, problem.c, problem.m, problem.n));
  return dm_output_is_chunked(&form) ? dm_pack_check(&f->out, s->force) : DM_OK;
}

static dm_status multiply(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  const files *f = shared;
  const dm_settings *s = &call->settings;
  const dm_multiply job = {
      .a = f->a,
      .b = f->b,
      .has_c = f->has_c,
      .c = f->c,
      .out = f->out,
      .equation = dm_cli_equation(s),
      .engine = dm_cli_engine(s),
      .form = dm_cli_form(s),
      .verify = s->verify,
      .force = s->force,
      .checkpoint = s->checkpoint,
      .checkpoint_interval = s->checkpoint_interval,
  };
  return dm_multiply_run(run, &job, record, NULL);
}

int dm_cli_multiply(dm_call *call) {
  files f = {0};
  dm_status status = check(call, &f);
  if (status) return dm_cli_finish(call, status);
  dm_status prepared = dm_cli_ramp(call) ? prepare(call, &f) : DM_OK;
  return dm_cli_run_job(call, prepared,
                        &(dm_work){.run = multiply, .shared = &f, .bytes = sizeof f});
}
