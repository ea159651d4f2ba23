#include <stdio.h>
#include <string.h>

#include "backend/cuda.h"
#include "bench/kernel_table.h"
#include "bench/verbs.h"
#include "cli/session.h"

enum { MOST_REPETITIONS = 1000, MOST_PAD = 1 << 20 };

static dm_status read_wishes(const dm_call *call, dm_bench_kernels *wanted) {
  const dm_cli_lab *lab = &call->own.lab;
  const dm_kernel_op op = lab->op == 0 ? DM_KERNEL_OPS : (dm_kernel_op)(lab->op - 1);
  *wanted = (dm_bench_kernels){.check_only = lab->check,
                               .accumulate = lab->accumulate,
                               .along_k = lab->along_k,
                               .pad = lab->pad,
                               .repetitions = (int)lab->pairs,
                               .settle = lab->settle,
                               .limit = lab->limit,
                               .seed = (uint64_t)call->own.seed};
  if (lab->pairs > MOST_REPETITIONS)
    return dm_fail(DM_E_USAGE, "more than %d repetitions", MOST_REPETITIONS);
  if (lab->pad > MOST_PAD) return dm_fail(DM_E_USAGE, "more than %d elements of padding", MOST_PAD);
  DM_TRY(dm_context(dm_kernel_types_parse(lab->types, &wanted->types), "option '--type'"));
  DM_TRY(dm_context(dm_kernel_sizes_parse(lab->sizes, &wanted->sizes), "option '--sizes'"));
  return dm_kernels_choose(lab->kernels, op, wanted->types, wanted->chosen);
}

/* ---- --list ---- */

static dm_status list(const dm_call *call, const bool chosen[DM_KERNEL_COUNT]) {
  int count = 0;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) count += chosen[i];
  if (dm_cli_level(call) > DM_LOG_WARNING) dm_cli_print_kernel_list(chosen, dm_cli_out(call));
  if (dm_cli_level(call) > DM_LOG_ERROR)
    fprintf(dm_cli_out(call), "damier: bench kernels listed=%d\n", count);
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    dm_record *record;
    if (!chosen[i]) continue;
    DM_TRY(dm_record_new(call->verb->name, call->command, &record));
    dm_kernel_describe(&dm_cuda_registry()[i], record);
    dm_status status = dm_cli_report(call, record);
    dm_record_free(record);
    DM_TRY(status);
  }
  return DM_OK;
}

/* ---- checking and measuring ---- */

typedef struct listener {
  const dm_call *call;
  bool any;
  dm_kernel_result last;
} listener;

static dm_status tell(void *context, const dm_kernel_result *result) {
  listener *l = context;
  dm_record *record;
  if (dm_cli_level(l->call) > DM_LOG_WARNING)
    dm_cli_print_kernel(result, l->any ? &l->last : NULL, dm_cli_out(l->call));
  l->any = true;
  l->last = *result;
  DM_TRY(dm_record_new(l->call->verb->name, l->call->command, &record));
  dm_kernel_result_record(result, record);
  dm_status status = dm_cli_report(l->call, record);
  dm_record_free(record);
  return status;
}

static dm_status bench_kernels(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  listener l = {.call = call};
  dm_bench_kernels_sum sum;
  dm_status status =
      dm_bench_kernels_run(run, shared, &(dm_kernel_listener){.context = &l, .tell = tell}, &sum);
  if (status && status->code != DM_E_VERIFY) return status;
  FILE *out = dm_cli_out(call);
  if (dm_cli_level(call) > DM_LOG_ERROR)
    fprintf(out, "damier: bench kernels results=%d timed=%d failed=%d %s\n", sum.results, sum.timed,
            sum.failed, sum.failed > 0 ? "FAIL" : "PASS");
  if (fflush(out) != 0 || ferror(out))
    status = dm_status_first(
        status, dm_fail(DM_E_IO, "the report could not be written to standard output"));
  return status;
}

int dm_bench_verb_kernels(dm_call *call) {
  dm_bench_kernels wanted;
  dm_status status = read_wishes(call, &wanted);
  if (!call->own.lab.list)
    return dm_cli_run_job(
        call, status,
        &(dm_work){
            .run = bench_kernels, .shared = &wanted, .bytes = sizeof wanted, .reports = true});
  if (!status && !dm_cli_ramp(call)) return 0; /* only one rank under mpirun */
  if (!status) status = dm_cli_open_reports(call);
  if (!status) status = list(call, wanted.chosen);
  return dm_cli_finish(call, status);
}
