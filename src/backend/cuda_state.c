/* Return codes of CUDA and cuBLAS as statuses: the GPU, the call, the library's message. */
#include "backend/cuda_state.h"

#include <string.h>

/* The function's name in the text of a call. */
static int name_length(const char *call) {
  return (int)strcspn(call, "(");
}

dm_status dm_cuda_error(const dm_cuda *gpu, cudaError_t error, const char *call, const char *file,
                        int line, const char *function) {
  (void)cudaGetLastError(); /* report a recoverable error only once */
  dm_code code = error == cudaErrorMemoryAllocation ? DM_E_FIT : DM_E_DEVICE;
  dm_status status =
      gpu ? dm_status_new(code, file, line, function, "GPU %d (%s, %s): %.*s: %s (%s)", gpu->index,
                          gpu->name, gpu->id, name_length(call), call, cudaGetErrorString(error),
                          cudaGetErrorName(error))
          : dm_status_new(code, file, line, function, "%.*s: %s (%s)", name_length(call), call,
                          cudaGetErrorString(error), cudaGetErrorName(error));
  if (cudaPeekAtLastError() != cudaSuccess)
    dm_hint(status,
            "nothing more can run on this GPU in this process; the kernel's log may say why "
            "(dmesg, lines with Xid)");
  return status;
}

dm_status dm_cublas_error(const dm_cuda *gpu, cublasStatus_t error, const char *call,
                          const char *file, int line, const char *function) {
  cudaError_t cause = cudaGetLastError();
  dm_code code = error == CUBLAS_STATUS_ALLOC_FAILED ? DM_E_FIT : DM_E_DEVICE;
  dm_status status =
      dm_status_new(code, file, line, function, "GPU %d (%s, %s): %.*s: %s", gpu->index, gpu->name,
                    gpu->id, name_length(call), call, cublasGetStatusString(error));
  if (cause != cudaSuccess) dm_hint(status, "the GPU says: %s", cudaGetErrorString(cause));
  if (!dm_cuda_library_open("cublas", CUBLAS_VER_MAJOR))
    dm_hint(status,
            "cuBLAS is a part of the CUDA Toolkit; 'pip install damier[cuda%d]' installs it beside "
            "the Python package; --backend cpu does not need it",
            CUBLAS_VER_MAJOR);
  return status;
}

dm_status dm_cuda_order(dm_cuda *gpu, cudaStream_t from, cudaStream_t to) {
  if (from == to) return DM_OK;
  if (!gpu->ordered) DM_CUDA(gpu, cudaEventCreateWithFlags(&gpu->ordered, cudaEventDisableTiming));
  DM_CUDA(gpu, cudaEventRecord(gpu->ordered, from));
  DM_CUDA(gpu, cudaStreamWaitEvent(to, gpu->ordered, 0));
  return DM_OK;
}

/* ---- events ----
 *
 * A lane is a queue, so an event is its lane and a number in it. Nothing is freed, and
 * an event that is never queried costs nothing. */

enum { LANE_BITS = 2 };

static void cuda_state_complete(dm_cuda_lane *lane, uint64_t number) {
  if (number > lane->completed) lane->completed = number;
}

dm_status dm_cuda_post(dm_cuda *gpu, dm_cuda_lane_name name, dm_event *done) {
  dm_cuda_lane *lane = &gpu->lanes[name];
  const uint64_t number = lane->posted + 1;
  cudaEvent_t *event = &lane->ring[number % DM_CUDA_RING];
  if (!*event) {
    DM_CUDA(gpu, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  } else if (number > DM_CUDA_RING && number - DM_CUDA_RING > lane->completed) {
    DM_CUDA(gpu, cudaEventSynchronize(*event)); /* it still marks unfinished work */
    cuda_state_complete(lane, number - DM_CUDA_RING);
  }
  DM_CUDA(gpu, cudaEventRecord(*event, lane->stream));
  lane->posted = number;
  *done = number << LANE_BITS | (uint64_t)name;
  return DM_OK;
}

/* *lane is NULL if the work is known to be done. */
static dm_status cuda_state_find(dm_cuda *gpu, dm_event event, dm_cuda_lane **lane,
                                 uint64_t *number) {
  *lane = NULL;
  if (event == 0) return DM_OK;
  const uint64_t name = event & ((1u << LANE_BITS) - 1);
  *number = event >> LANE_BITS;
  if (name >= DM_LANES || *number > gpu->lanes[name].posted)
    return dm_fail(DM_E_BUG, "event %llx was never posted", (unsigned long long)event);
  if (*number > gpu->lanes[name].completed) *lane = &gpu->lanes[name];
  return DM_OK;
}

dm_status dm_cuda_test(dm_backend *backend, dm_event event, bool *done) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_lane *lane;
  uint64_t number;
  DM_TRY(cuda_state_find(gpu, event, &lane, &number));
  *done = true;
  if (!lane) return DM_OK;
  cudaError_t answer = cudaEventQuery(lane->ring[number % DM_CUDA_RING]);
  if (answer == cudaErrorNotReady) {
    (void)cudaGetLastError(); /* else the next launch would report it */
    *done = false;
    return DM_OK;
  }
  if (answer != cudaSuccess)
    return dm_cuda_error(gpu, answer, "cudaEventQuery", __FILE__, __LINE__, __func__);
  cuda_state_complete(lane, number);
  return DM_OK;
}

dm_status dm_cuda_wait(dm_backend *backend, dm_event event) {
  dm_cuda *gpu = dm_cuda_of(backend);
  dm_cuda_lane *lane;
  uint64_t number;
  DM_TRY(cuda_state_find(gpu, event, &lane, &number));
  if (!lane) return DM_OK;
  DM_CUDA(gpu, cudaEventSynchronize(lane->ring[number % DM_CUDA_RING]));
  cuda_state_complete(lane, number);
  return DM_OK;
}
