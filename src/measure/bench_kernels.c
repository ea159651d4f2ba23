#include "measure/bench_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda.h"
#include "core/buffer.h"
#include "engine/tilings.h"
#include "measure/bench_kernels_impl.h"

typedef struct bench {
  dm_run *run;
  const dm_bench_kernels *wanted;
  const dm_kernel_listener *listener;
  dm_bench_kernels_sum *sum;
  dm_backend *backend;
  dm_lab *lab;
  dm_device device;
  dm_roof roof;
  bool runs[DM_KERNEL_COUNT];           /* those asked for that this machine has */
  char tilings[32];                     /* of jit */
  dm_edge_check edges[DM_KERNEL_COUNT]; /* in the type of the moment */
  double *seconds;                      /* of the pairs of one kernel */
} bench;

bool dm_kernel_result_pass(const dm_kernel_result *result) {
  return result->edges.failed == 0 && result->check.pass;
}

static bool is_wanted(const bench *b, const dm_kernel *kernel, dm_operand type) {
  return b->runs[kernel->id] && dm_kernel_takes(kernel, type);
}

/* NULL, or why KERNEL cannot run here. */
static dm_status why_not(bench *b, const dm_kernel *kernel) {
  const int capability = b->roof.limits.capability;
  char text[32];
  if (capability < kernel->first || capability > kernel->last)
    return dm_fail(DM_E_USAGE, "it runs on compute capability %s, this is %d.%d",
                   dm_kernel_capability(kernel, text), capability / 10, capability % 10);
  if (kernel->maker != DM_BY_JIT) return DM_OK;
  return dm_tilings_agree(b->run, b->backend, kernel->name, DM_F32, b->tilings);
}

/* What this machine has not is left out, and said so; an error where nothing is left. */
static dm_status find_kernels(bench *b) {
  dm_status first = DM_OK;
  bool any = false;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (!b->wanted->chosen[i]) continue;
    dm_status missing = dm_context(why_not(b, kernel), "kernel %s", kernel->name);
    b->runs[i] = !missing;
    any |= !missing;
    if (missing) dm_log_line(&b->run->log, DM_LOG_WARNING, "%s; it is left out", missing->message);
    first = dm_status_first(first, missing);
  }
  if (!any) return first;
  dm_status_free(first);
  return DM_OK;
}

static dm_status open(bench *b) {
  const dm_backend_ops *ops = &dm_backend_cuda;
  void *memory;
  if (b->run->ranks > 1)
    return dm_hint(
        dm_fail(DM_E_USAGE, "bench kernels measures one GPU, not %d ranks", b->run->ranks),
        "start it without mpirun");
  if (ops->not_built)
    return dm_hint(dm_fail(DM_E_DEVICE, "bench kernels needs a GPU: %s", ops->not_built),
                   "damier bench kernels --list works everywhere");
  if (dm_cuda_device_count() == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "bench kernels needs a GPU, and this process sees none"),
                   "nvidia-smi lists the GPUs; damier bench kernels --list works everywhere");
  const dm_backend_config config = {.local_ranks = 1, .kernel = "auto"};
  DM_TRY(dm_backend_open(ops, &config, &b->backend));
  DM_TRY(dm_backend_device(b->backend, &b->device));
  DM_TRY(dm_lab_open(b->backend, &b->lab));
  DM_TRY(dm_lab_limits_of(b->backend, &b->roof.limits));
  DM_TRY(find_kernels(b));
  DM_TRY(dm_buffer_zeroed(2 * (int64_t)b->wanted->repetitions, sizeof(double), &memory));
  b->seconds = memory;
  return b->wanted->check_only ? DM_OK : dm_measure_roof(b->backend, b->lab, &b->roof);
}

static dm_status check_edges(bench *b, dm_operand type) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (!is_wanted(b, kernel, type)) continue;
    DM_TRY(dm_check_edges(b->backend, b->lab, kernel, type, b->wanted->seed, &b->edges[i]));
    if (b->edges[i].failed > 0)
      dm_log_line(&b->run->log, DM_LOG_WARNING, "%s, %s: %d of %d small products are wrong: %s",
                  kernel->name, dm_operand_name(type), b->edges[i].failed, b->edges[i].trials,
                  b->edges[i].first);
  }
  return DM_OK;
}

static dm_status examine(bench *b, const dm_bed *bed, const dm_size_check *expected,
                         const dm_kernel *kernel) {
  dm_kernel_result r = {.kernel = kernel,
                        .type = bed->type,
                        .size = bed->size,
                        .wanted = b->wanted,
                        .device = &b->device,
                        .roof = &b->roof,
                        .run = b->run,
                        .tilings = kernel->maker == DM_BY_JIT ? b->tilings : "",
                        .edges = b->edges[kernel->id],
                        .check = *expected};
  r.load = dm_load_of(bed->op, bed->type, bed->size, bed->works[0].accumulate);
  r.timing.kernel_s = b->seconds;
  r.timing.yardstick_s = b->seconds + b->wanted->repetitions;
  DM_TRY(dm_check_size(bed, kernel, &r.check));
  const bool pass = dm_kernel_result_pass(&r);
  if (pass && !b->wanted->check_only) {
    r.bound_s = dm_roof_bound(&b->roof, bed->op, bed->type, r.load, &r.bound_by);
    DM_TRY(dm_time_kernel(bed, b->wanted, kernel, &r.timing));
  }
  b->sum->results++;
  b->sum->failed += !pass;
  b->sum->timed += r.timing.done;
  return b->listener->tell(b->listener->context, &r);
}

/* All kernels of one operation, on the same matrices. */
static dm_status examine_all(bench *b, dm_bed *bed) {
  dm_size_check expected = {0};
  const int64_t sets = b->wanted->check_only ? 1 : 0;
  DM_TRY(dm_bed_open(b->wanted, &b->roof.limits, sets, bed));
  DM_TRY(dm_expect_size(bed, &expected));
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (kernel->op != bed->op || !is_wanted(b, kernel, bed->type)) continue;
    DM_TRY(dm_context(examine(b, bed, &expected, kernel), "kernel %s, %s", kernel->name,
                      dm_operand_name(bed->type)));
  }
  return DM_OK;
}

static bool any_of(const bench *b, dm_kernel_op op, dm_operand type) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (kernel->op == op && is_wanted(b, kernel, type)) return true;
  }
  return false;
}

/* The name of jit's tile sizes is that of those in one type. */
static dm_status name_tilings(bench *b, dm_operand type) {
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (kernel->maker == DM_BY_JIT && is_wanted(b, kernel, type))
      DM_TRY(
          dm_tilings_agree(b->run, b->backend, kernel->name, dm_operand_dtype(type), b->tilings));
  }
  return DM_OK;
}

static dm_status examine_type(bench *b, dm_operand type) {
  DM_TRY(name_tilings(b, type));
  DM_TRY(check_edges(b, type));
  for (dm_kernel_op op = DM_GEMM; op < DM_KERNEL_OPS; op++) {
    if (!any_of(b, op, type)) continue;
    for (int64_t i = 0; i < b->wanted->sizes.count; i++) {
      dm_bed bed = {.backend = b->backend,
                    .lab = b->lab,
                    .op = op,
                    .type = type,
                    .size = b->wanted->sizes.list[i],
                    .pad = b->wanted->pad,
                    .seed = b->wanted->seed};
      dm_status status = examine_all(b, &bed);
      dm_bed_close(&bed);
      DM_TRY(status);
    }
  }
  return DM_OK;
}

static dm_status work(bench *b) {
  DM_TRY(open(b));
  for (int i = 0; i < DM_KERNEL_TYPES; i++)
    if (b->wanted->types & 1u << dm_kernel_types[i]) DM_TRY(examine_type(b, dm_kernel_types[i]));
  if (b->sum->failed > 0)
    return dm_hint(
        dm_fail(DM_E_VERIFY, "%d of %d checks of kernels failed", b->sum->failed, b->sum->results),
        "the table says which; those were not timed");
  return DM_OK;
}

dm_status dm_bench_kernels_run(dm_run *run, const dm_bench_kernels *wanted,
                               const dm_kernel_listener *listener, dm_bench_kernels_sum *sum) {
  bench *b = calloc(1, sizeof *b);
  if (!b) return dm_fail(DM_E_FIT, "no memory for the benchmark");
  *b = (bench){.run = run, .wanted = wanted, .listener = listener, .sum = sum};
  memset(sum, 0, sizeof *sum);
  dm_status status = work(b);
  dm_lab_close(b->lab);
  dm_backend_close(b->backend);
  free(b->seconds);
  free(b);
  return dm_comm_agree(run->world, status);
}
