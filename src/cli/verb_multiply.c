#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/gpus.h"
#include "cli/plan_product.h"
#include "cli/session.h"
#include "core/buffer.h"
#include "core/crew.h"
#include "core/units.h"
#include "engine/equation.h"
#include "options/request.h"
#include "programs/pairwise.h"
#include "programs/reduced.h"

/* --no-protect excludes options that need checksums. */
static dm_status check_protection(const dm_settings *s) {
  if (s->protect) return DM_OK;
  if (s->checkpoint && (dm_given(s, "checkpoint") || dm_given(s, "checkpoint-interval")))
    return dm_fail(DM_E_USAGE,
                   "--no-protect cannot be combined with --checkpoint and --checkpoint-interval");
  if (strcmp(dm_chosen(s, "verify-written"), "always") == 0)
    return dm_fail(DM_E_USAGE, "--no-protect and --verify-written always cannot be combined");
  return DM_OK;
}

/* Checks that need no file, on every rank. */
static dm_status verb_multiply_check(const dm_call *call, dm_product_files *f) {
  if (!dm_cli_given(call, "output") && call->verb->bit != DM_VERB_PLAN)
    return dm_hint(dm_fail(DM_E_USAGE, "no output is named"), "-o C.h5:/c names it");
  if (call->settings.verify_files && !call->settings.verify)
    return dm_fail(DM_E_USAGE, "--verify-files and --no-verify cannot be combined");
  dm_reductions kept;
  DM_TRY(check_protection(&call->settings));
  DM_TRY(dm_request_reductions(&call->settings, &kept));
  return dm_cli_check_beta(call, &f->has_c);
}

static dm_status verb_multiply_multiply(dm_run *run, const dm_call *call, void *shared,
                                        dm_record *record) {
  DM_FREED dm_multiply *job = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &job)));
  dm_request_multiply(&call->settings, shared, job);
  job->engine.once = true;
  if (((const dm_product_files *)shared)->done) return dm_multiply_done(run, job, record);
  if (dm_is_reduced(job) && call->own.dry_run) return dm_reduced_plan(run, job, record);
  return dm_is_reduced(job)    ? dm_reduced_run(run, job, NULL, record)
         : dm_is_pairwise(job) ? dm_pairwise_run(NULL, run, job, record)
                               : dm_multiply_run(run, job, record);
}

static double verb_multiply_bytes_of(const char *operand) {
  dm_location at;
  struct stat info;
  dm_status status = dm_location_parse(operand, &at);
  const bool there = !status && stat(at.file, &info) == 0;
  dm_status_free(status);
  return there ? (double)info.st_size : 0.0;
}

/* Whether A and B are large enough to justify starting a GPU. No rank knows their shapes yet:
 * assumes square f64 matrices. */
static bool may_use_gpu(const dm_call *call) {
  const dm_settings *s = &call->settings;
  const char *backend = dm_chosen(s, "backend");
  if (strcmp(backend, "auto") != 0) return strcmp(backend, "cuda") == 0;
  const double size =
      sqrt((verb_multiply_bytes_of(call->operands[0]) + verb_multiply_bytes_of(call->operands[1])) /
           16.0);
  return !dm_gpu_is_late(2.0 * size * size * size, DM_F64, dm_cores());
}

static dm_status take_gpus(dm_call *call, const dm_product_files *f, dm_gpu_choice *gpus) {
  if (!dm_cli_speaks(call)) return DM_OK;
  dm_problem problem;
  DM_TRY(dm_request_problem(&call->settings, f, &problem));
  problem.verify = call->settings.verify;
  DM_TRY(dm_cli_take_gpus(call, &problem, gpus));
  if (gpus->most == 0) return DM_OK;
  const dm_log log = dm_cli_log(call);
  char one[32], chosen[32];
  dm_log_line(&log, DM_LOG_DETAIL, "%d of %d GPUs: predicted %s, with one %s", gpus->ranks,
              gpus->most, dm_format_seconds(gpus->seconds[gpus->ranks - 1], chosen),
              dm_format_seconds(gpus->seconds[0], one));
  return DM_OK;
}

/* Without a launcher a GPU starts when the plan needs it, unless A and B are read before, for their
 * means and deviations. */
static bool starts_early(const dm_call *call, const dm_product_files *f) {
  const dm_equation equation = dm_request_equation(&call->settings);
  return (f->a.rows > 0 && dm_standard_lines(&equation.standard[0]) != DM_NO_LINES) ||
         (f->b.rows > 0 && dm_standard_lines(&equation.standard[1]) != DM_NO_LINES);
}

bool dm_cli_is_reduced(const dm_call *call) {
  dm_reductions kept;
  dm_request_kept(&call->settings, &kept);
  return kept.count > 0 || dm_request_equation(&call->settings).distance.kind != DM_NO_DISTANCE;
}

/* A product that is only planned may have no output. */
static dm_status inspect_product(const dm_call *call, dm_product_files *f) {
  const dm_settings *s = &call->settings;
  const dm_log log = dm_cli_log(call);
  const dm_equation equation = dm_request_equation(s);
  dm_problem problem;
  if (call->verb->bit != DM_VERB_PLAN) return dm_request_inspect_files(s, &log, call->operands, f);
  DM_TRY(dm_request_inspect_operands(s, &log, call->operands, f, &problem));
  return dm_request_inspect_vectors(s, &log, &equation, &f->a, &f->b, &f->vectors);
}

/* A file that C is added to is copied first. */
static void verb_multiply_tell_copy(const dm_call *call, const dm_product_files *f) {
  const dm_log log = dm_cli_log(call);
  if (!call->own.dry_run || !f->form.existing.at.file[0]) return;
  dm_log_line(
      &log, DM_LOG_NOTE,
      "%s (%lld bytes) is copied, %s is %s the copy, and the copy takes its name: that needs "
      "as much room again",
      f->out.file, (long long)f->form.existing.file_bytes, f->out.dataset,
      f->form.replaces ? "replaced in" : "added to");
}

int dm_cli_multiply(dm_call *call) {
  DM_FREED dm_product_files *f = NULL;
  dm_status status = dm_buffer_table(1, &f);
  if (!status) status = verb_multiply_check(call, f);
  if (status) return dm_cli_finish(call, status);
  dm_status prepared = DM_OK;
  if (dm_cli_speaks(call)) prepared = inspect_product(call, f);
  if (!prepared) verb_multiply_tell_copy(call, f);
  dm_gpu_choice gpus = {.ranks = 1};
  if (!prepared && !call->own.dry_run && !f->done) prepared = take_gpus(call, f, &gpus);
  dm_dataset *const datasets[] = {&f->a, &f->b, &f->c};
  int code;
  if (call->own.dry_run && !dm_cli_is_reduced(call) && !f->done)
    code = prepared ? dm_cli_finish(call, prepared) : dm_cli_plan_product(call);
  else
    code = dm_cli_run_job(
        call, prepared,
        &(dm_work){.run = verb_multiply_multiply,
                   .shared = f,
                   .bytes = sizeof *f,
                   .datasets = datasets,
                   .dataset_count = 3,
                   .threads = gpus.ranks,
                   .spare = &gpus.spare,
                   .warms_up = !prepared && !call->own.dry_run && !f->done && may_use_gpu(call),
                   .warms_up_alone = !prepared && !f->done && gpus.uses && starts_early(call, f)});
  for (int i = 0; i < 3; i++) dm_dataset_free(datasets[i]);
  return code;
}

/* Multiplies X with itself; the settings are those of A and B. */
static int multiply_twice(dm_call *call) {
  const char *operands[] = {call->operands[0], call->operands[0], NULL};
  call->operands = operands;
  call->operand_count = 2;
  return dm_cli_multiply(call);
}

int dm_cli_gram(dm_call *call) {
  dm_request_gram(&call->settings, call->own.of_rows != 0);
  return multiply_twice(call);
}

static int covariances(dm_call *call, bool correlation) {
  const bool two = call->operand_count == 2;
  dm_request_covariance(&call->settings, call->own.of_rows != 0, correlation, two);
  return two ? dm_cli_multiply(call) : multiply_twice(call);
}

int dm_cli_cov(dm_call *call) {
  return covariances(call, false);
}

int dm_cli_cor(dm_call *call) {
  return covariances(call, true);
}
