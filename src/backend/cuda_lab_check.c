/* The lab's check: the correct result, and a kernel's distance from it. */
#ifdef DM_HAVE_CUDA

#include "backend/cuda_lab.h"
#include "core/checked.h"

/* Allocates the reference in one piece of memory and copies its row numbers there. */
static dm_status lay_out(dm_lab *lab, const dm_lab_work *work, const int64_t *rows, int64_t count) {
  const int64_t parts = dm_dtype_is_complex(work->out.dtype) ? 2 : 1;
  const int64_t places = count * work->out.cols * parts, room = dm_round_up(count * 8, 256);
  DM_TRY(dm_cuda_grow(lab->gpu, &lab->expected, room + 3 * places * 8));
  DM_TRY(dm_cuda_grow(lab->gpu, &lab->errors, places * 8));
  double *numbers = (double *)(void *)((char *)lab->expected.memory + room);
  lab->reference = (dm_reference){.rows = lab->expected.memory,
                                  .count = count,
                                  .value = numbers,
                                  .rest = numbers + places,
                                  .magnitude = numbers + 2 * places,
                                  .stream = lab->stream};
  lab->judged = places;
  /* On the stream that reads them: cudaMemcpy may return before the copy is done. */
  DM_CUDA(lab->gpu, cudaMemcpyAsync(lab->expected.memory, rows, (size_t)count * 8,
                                    cudaMemcpyHostToDevice, lab->stream));
  return DM_OK;
}

static cudaError_t compute(const dm_reference *reference, const dm_lab_work *w) {
  switch (w->op) {
  case DM_GEMM:
    return dm_kernels_reference_product(reference, w->x, w->y, w->out, w->accumulate);
  case DM_TRANSPOSE:
    return dm_kernels_reference_transposition(reference, w->x);
  case DM_ADD:
    return dm_kernels_reference_addition(reference, w->x, w->y, w->alpha, w->beta);
  case DM_DOT:
    return dm_kernels_reference_dot(reference, w->x, w->y);
  case DM_KERNEL_OPS:
    break;
  }
  return cudaErrorInvalidValue;
}

dm_status dm_lab_expect(dm_lab *lab, const dm_lab_work *work, const int64_t *rows, int64_t count) {
  DM_TRY(dm_cuda_enter(lab->gpu));
  DM_TRY(lay_out(lab, work, rows, count));
  DM_CUDA(lab->gpu, compute(&lab->reference, work));
  DM_CUDA(lab->gpu, cudaStreamSynchronize(lab->stream));
  return DM_OK;
}

int64_t dm_lab_judged(const dm_lab *lab) {
  return lab->judged;
}

dm_status dm_lab_judge(dm_lab *lab, dm_view out, double *errors) {
  dm_cuda *gpu = lab->gpu;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_errors(&lab->reference, out, lab->errors.memory));
  DM_CUDA(gpu, cudaMemcpyAsync(errors, lab->errors.memory, (size_t)lab->judged * 8,
                               cudaMemcpyDeviceToHost, lab->stream));
  DM_CUDA(gpu, cudaStreamSynchronize(lab->stream));
  return DM_OK;
}

#endif
