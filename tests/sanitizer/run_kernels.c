/* Runs each of our kernels once on small matrices, for compute-sanitizer
 * (tests/sanitizer/run_kernels.sh); other tests check results.  Each matrix has its own allocation,
 * and elements after its rows are never written, so that reading them is a finding, too.
 *
 * usage: run_kernels [NAME...] */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda.h"
#include "backend/harness.h"
#include "backend/kernel_list.h"

enum { SKIPPED = 77 };

/* m, n, k: less than a tile and a ring of stages, and more than both. */
static const int64_t shapes[][3] = {{70, 33, 24}, {129, 270, 40}, {40, 70, 600}};

#define TRY(call)                                                                                  \
  do {                                                                                             \
    dm_status status_ = (call);                                                                    \
    if (status_) return status_;                                                                   \
  } while (0)

static dm_status make(dm_backend *gpu, dm_dtype dtype, int64_t rows, int64_t cols, int64_t pad,
                      uint64_t seed, dm_view *view) {
  const dm_generator random = {.kind = DM_INTEGER, .seed = seed, .parameter = 9.0};
  const int64_t stride = cols + pad;
  void *memory;
  TRY(dm_backend_alloc(gpu, DM_DEVICE, rows * stride * dm_dtype_size(dtype), &memory));
  *view = dm_view_strided(memory, dtype, DM_DEVICE, rows, cols, stride);
  return dm_backend_fill(gpu, *view, &random, 0, 0);
}

static dm_dtype result_type(const dm_kernel *kernel, dm_dtype dtype) {
  if (kernel->op == DM_GEMM) return dm_compute_sum(dtype);
  return kernel->op == DM_DOT ? DM_F64 : dtype;
}

static dm_status run_once(dm_backend *gpu, dm_harness *harness, const dm_kernel *kernel,
                          dm_dtype dtype, dm_operand operand, const int64_t shape[3], int64_t pad,
                          bool accumulate) {
  const int64_t m = shape[0], n = shape[1], k = kernel->op == DM_GEMM ? shape[2] : n;
  dm_harness_work w = {.op = kernel->op,
                       .kernel = kernel,
                       .operand = operand,
                       .accumulate = accumulate,
                       .alpha = 2.0,
                       .beta = -1.0};
  const bool turned = kernel->op == DM_TRANSPOSE, one = kernel->op == DM_DOT;
  TRY(make(gpu, dtype, m, k, pad, 1, &w.x));
  TRY(make(gpu, dtype, kernel->op == DM_GEMM ? k : m, n, pad, 2, &w.y));
  TRY(make(gpu, result_type(kernel, dtype),
           one      ? 1
           : turned ? n
                    : m,
           one      ? 1
           : turned ? m
                    : n,
           pad, 3, &w.out));
  dm_status status = dm_harness_run(harness, &w);
  dm_backend_release(gpu, DM_DEVICE, w.x.base);
  dm_backend_release(gpu, DM_DEVICE, w.y.base);
  dm_backend_release(gpu, DM_DEVICE, w.out.base);
  return status;
}

/* TF32 is a property of the backend. */
static dm_status run_type(const dm_kernel *kernel, dm_dtype dtype, dm_operand operand) {
  const char *const name = kernel->op == DM_GEMM ? kernel->name : "cublas";
  const dm_backend_config config = {
      .local_ranks = 1, .kernel = name, .compute = dm_compute_by(operand)};
  dm_backend *gpu;
  dm_harness *harness = NULL;
  TRY(dm_backend_open(&dm_backend_cuda, &config, &gpu));
  dm_status status = dm_harness_open(gpu, &harness);
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int i = 0; i < 3 && !status; i++) /* aligned rows, others, and C += */
      status = run_once(gpu, harness, kernel, dtype, operand, shapes[s], i == 1, i == 2);
  dm_harness_close(harness);
  dm_backend_close(gpu);
  return status;
}

static bool wanted(const dm_kernel *kernel, int count, char **names) {
  if (count == 0) return kernel->maker != DM_BY_CUBLAS && kernel->maker != DM_BY_CUBLASLT;
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], kernel->name) == 0) return true;
  return false;
}

int main(int count, char **words) {
  int runs = 0;
  if (dm_cuda_device_count() == 0) return SKIPPED;
  for (int i = 0; i < DM_KERNEL_COUNT; i++) {
    const dm_kernel *kernel = &dm_cuda_registry()[i];
    if (!wanted(kernel, count - 1, words + 1)) continue;
    for (dm_operand t = 0; t < DM_OPERANDS; t++) {
      if (!dm_kernel_takes(kernel, t)) continue;
      dm_status status = run_type(kernel, dm_operand_dtype(t), t);
      if (status) {
        printf("%s: %s\n", kernel->name, status->message);
        return 1;
      }
      runs++;
    }
  }
  printf("%d kernels in a type\n", runs);
  return runs == 0;
}
