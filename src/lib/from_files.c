/* Files: what `damier multiply` does, with the options of the context. */
#include <string.h>

#include "cli/request.h"
#include "engine/setup.h"
#include "lib/library.h"

static dm_status look(const dm_call *call, int rank, dm_cli_files *files) {
  DM_TRY(dm_cli_check_beta(call, &files->has_c));
  return rank == 0 ? dm_cli_look_at_files(call, files) : DM_OK;
}

/* The context's options with these operands, in CALL, and what rank 0 sees of the files. */
static dm_status find_files(damier_context *context, const dm_matrices *of, const char *operands[2],
                            dm_call *call, dm_cli_files *files) {
  const dm_comm *world = context->run.world;
  dm_settings *s = &call->settings;
  memset(files, 0, sizeof *files);
  operands[0] = of->a->file;
  operands[1] = of->b->file;
  call->operands = operands;
  call->operand_count = 2;
  dm_status status = dm_io_parse_location(of->c->file, &s->output);
  s->given[dm_cli_option_find("output")] = true;
  DM_TRY(dm_comm_agree(world, status ? status : look(call, context->run.rank, files)));
  return dm_comm_broadcast(world, files, sizeof *files, 0);
}

dm_status dm_multiply_in_files(damier_context *context, const dm_matrices *matrices,
                               dm_record *record) {
  dm_cli_files files;
  const char *operands[2];
  dm_call call = context->call;
  DM_TRY(find_files(context, matrices, operands, &call, &files));
  dm_multiply job = dm_cli_multiply_job(&call.settings, &files);
  job.engine.read_copies = true; /* mapped pages of a file that is cut end the process */
  return dm_multiply_run(&context->run, &job, record, NULL);
}

static dm_status plan(damier_context *context, const dm_settings *settings,
                      const dm_cli_files *files, dm_record *record) {
  const dm_engine engine = dm_cli_engine(settings);
  const dm_equation equation = dm_cli_equation(settings);
  dm_problem problem;
  dm_setup setup = {0};
  DM_TRY(dm_comm_agree(
      context->run.world,
      dm_problem_of(&files->a, &files->b, files->has_c ? &files->c : NULL, &equation, &problem)));
  problem.verify = settings->verify;
  dm_status status = dm_setup_open(&context->run, &engine, &problem, &setup);
  if (!status && record) dm_setup_record(&setup, &context->run, record);
  dm_setup_close(&setup);
  return status;
}

dm_status dm_plan_in_files(damier_context *context, const dm_matrices *matrices,
                           dm_record *record) {
  dm_cli_files files;
  const char *operands[2];
  dm_call call = context->call;
  DM_TRY(find_files(context, matrices, operands, &call, &files));
  return plan(context, &call.settings, &files, record);
}
