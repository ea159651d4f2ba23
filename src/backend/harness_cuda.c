/* The harness on a GPU: posts kernels, one by one or as a graph, and times them. */
#include "backend/harness.h"

#include <cuda.h>
#include <stdlib.h>

#include "backend/cuda.h"
#include "backend/cuda_gemm.h"
#include "backend/gpu_list.h"
#include "backend/kernel_list.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "kernels/kernels.h"
#include "kernels/reference.h"

struct dm_harness {
  dm_cuda *gpu;
  dm_nvml nvml;
  cudaStream_t stream; /* stream of products */
  cudaEvent_t begin, end;
  dm_cuda_area scratch, expected, errors;
  dm_reference reference; /* in the memory of EXPECTED */
  int64_t judged;         /* elements of REFERENCE */
};

enum { SINK = 256 }; /* bytes for the output of the reading kernel */

typedef struct helper {
  cudaError_t (*transpose)(const dm_transposition *work);
  cudaError_t (*add)(const dm_addition *work);
  cudaError_t (*dot)(const dm_dot_product *work);
} helper;

#define HARNESS_TRANSPOSE(name, ...) [DM_KERNEL_##name] = {.transpose = dm_kernels_##name},
#define HARNESS_ADD(name, ...) [DM_KERNEL_##name] = {.add = dm_kernels_##name},
#define HARNESS_DOT(name, ...) [DM_KERNEL_##name] = {.dot = dm_kernels_##name},
static const helper helpers[DM_KERNEL_COUNT] = {
    [DM_KERNEL_cublas] = {0}, /* no helper; the lists may be empty */
    DM_TRANSPOSE_LIST(HARNESS_TRANSPOSE) DM_ADD_LIST(HARNESS_ADD) DM_DOT_LIST(HARNESS_DOT)};

dm_status dm_harness_open(dm_backend *backend, dm_harness **harness) {
  dm_harness *l;
  if (backend->ops != &dm_backend_cuda)
    return dm_fail(DM_E_DEVICE, "kernels are measured on the cuda backend only");
  DM_TRY(dm_buffer_table(1, &l));
  l->gpu = dm_cuda_of(backend);
  l->stream = l->gpu->lanes[DM_COMPUTE].stream;
  *harness = l;
  DM_TRY(dm_cuda_enter(l->gpu));
  DM_CUDA(l->gpu, cudaEventCreate(&l->begin));
  DM_CUDA(l->gpu, cudaEventCreate(&l->end));
  DM_TRY(dm_cuda_grow(l->gpu, &l->scratch, SINK));
  dm_nvml_open(l->gpu->id, &l->nvml);
  return DM_OK;
}

void dm_harness_close(dm_harness *harness) {
  if (!harness) return;
  dm_nvml_close(&harness->nvml);
  if (harness->begin) (void)cudaEventDestroy(harness->begin);
  if (harness->end) (void)cudaEventDestroy(harness->end);
  dm_cuda_area *const areas[] = {&harness->scratch, &harness->expected, &harness->errors};
  for (int i = 0; i < 3; i++)
    if (areas[i]->memory) dm_cuda_release(&harness->gpu->base, DM_DEVICE, areas[i]->memory);
  free(harness);
}

void dm_harness_sense(dm_harness *harness, dm_harness_sensors *sensors) {
  *sensors = (dm_harness_sensors){.clock = dm_nvml_clock(&harness->nvml),
                                  .power = dm_nvml_power(&harness->nvml),
                                  .temperature = dm_nvml_temperature(&harness->nvml)};
}

dm_status dm_harness_ready(dm_harness *harness, const dm_kernel *kernel) {
  return kernel->id == DM_KERNEL_jit ? dm_cuda_need_nvrtc(harness->gpu) : DM_OK;
}

/* ---- one call ---- */

/* Whether to call cuBLAS with the layout in which tensor cores read i8 and TF32. For i8 it requires
 * rows that start at multiples of 4 bytes. */
static bool takes_along_k(const dm_harness_work *w) {
  if (w->op != DM_GEMM || !w->y_along_k.base) return false;
  return w->x.dtype != DM_I8 || (w->x.row_stride % 4 == 0 && w->y_along_k.row_stride % 4 == 0);
}

static dm_status multiply_along_k(dm_harness *harness, const dm_harness_work *w) {
  dm_cuda *gpu = harness->gpu;
  const dm_cuda_types *t = dm_cuda_types_of(w->x.dtype);
  const dm_view c = w->out, a = w->x, b = w->y_along_k;
  DM_TRY(dm_cuda_need_cublas(gpu));
  DM_CUBLAS(gpu,
            cublasGemmEx_64(gpu->cublas, CUBLAS_OP_T, CUBLAS_OP_N, c.cols, c.rows, a.cols, t->one,
                            b.base, t->in, dm_cuda_leading(b), a.base, t->in, dm_cuda_leading(a),
                            w->accumulate ? t->one : t->zero, c.base, t->out, dm_cuda_leading(c),
                            dm_cuda_compute(gpu, t), CUBLAS_GEMM_DEFAULT));
  return DM_OK;
}

/* Posts the baseline of W's kernel. */
static dm_status post_yardstick(dm_harness *harness, const dm_harness_work *w) {
  dm_cuda *gpu = harness->gpu;
  if (takes_along_k(w)) return multiply_along_k(harness, w);
  if (w->op == DM_GEMM)
    return dm_cuda_multiply(gpu, &dm_cuda_registry()[DM_KERNEL_cublas], w->out, w->x, w->y,
                            w->accumulate);
  if (w->op == DM_DOT) {
    const int64_t bytes = w->x.rows * w->x.row_stride * dm_dtype_size(w->x.dtype);
    DM_CUDA(gpu, dm_kernels_read(w->x.base, w->y.base, bytes, gpu->processors,
                                 harness->scratch.memory, harness->stream));
    return DM_OK;
  }
  dm_view to = w->x; /* a copy needs no transposed shape */
  to.base = w->out.base;
  if (w->op == DM_TRANSPOSE) to.row_stride = to.cols;
  if (w->op == DM_ADD) to.row_stride = w->out.row_stride;
  return dm_cuda_copy_on(gpu, harness->stream, to, w->x);
}

static dm_status dot(dm_harness *harness, const dm_harness_work *w, cudaError_t *answer) {
  dm_dot_product product = {.x = w->x,
                            .y = w->y,
                            .result = w->out.base,
                            .processors = harness->gpu->processors,
                            .stream = harness->stream};
  DM_TRY(dm_cuda_grow(harness->gpu, &harness->scratch, dm_kernels_dot_scratch(&product)));
  product.scratch = harness->scratch.memory;
  *answer = helpers[w->kernel->id].dot(&product);
  return DM_OK;
}

static dm_status post_helper(dm_harness *harness, const dm_harness_work *w) {
  const helper *h = &helpers[w->kernel->id];
  cudaError_t answer = cudaErrorInvalidValue;
  switch (w->op) {
  case DM_TRANSPOSE:
    answer =
        h->transpose(&(dm_transposition){.to = w->out, .from = w->x, .stream = harness->stream});
    break;
  case DM_ADD:
    answer = h->add(&(dm_addition){.z = w->out,
                                   .x = w->x,
                                   .y = w->y,
                                   .alpha = w->alpha,
                                   .beta = w->beta,
                                   .stream = harness->stream});
    break;
  case DM_DOT:
    DM_TRY(dot(harness, w, &answer));
    break;
  case DM_GEMM:
  case DM_KERNEL_OPS:
    break;
  }
  if (answer == cudaSuccess) return DM_OK;
  return dm_cuda_error(harness->gpu, answer, w->kernel->name, __FILE__, __LINE__, __func__);
}

static dm_status post_work(dm_harness *harness, const dm_harness_work *work) {
  dm_cuda *gpu = harness->gpu;
  gpu->operand = work->operand;
  if (!work->kernel) return post_yardstick(harness, work);
  if (work->op == DM_GEMM)
    return dm_cuda_multiply(gpu, work->kernel, work->out, work->x, work->y, work->accumulate);
  return post_helper(harness, work);
}

dm_status dm_harness_run(dm_harness *harness, const dm_harness_work *work) {
  DM_TRY(dm_cuda_enter(harness->gpu));
  DM_TRY(post_work(harness, work));
  DM_CUDA(harness->gpu, cudaStreamSynchronize(harness->stream));
  return DM_OK;
}

/* ---- many ---- */

static dm_status post_series(dm_harness *harness, dm_harness_series *series) {
  for (int64_t i = 0; i < series->launches; i++) {
    DM_TRY(post_work(harness, &series->works[series->next]));
    series->next = (series->next + 1) % series->sets;
  }
  return DM_OK;
}

static dm_status record_series(dm_harness *harness, dm_harness_series *series, cudaGraph_t *graph) {
  dm_cuda *gpu = harness->gpu;
  *graph = NULL;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, cudaStreamBeginCapture(harness->stream, cudaStreamCaptureModeRelaxed));
  dm_status posted = post_series(harness, series);
  cudaError_t ended = cudaStreamEndCapture(harness->stream, graph);
  if (!posted && ended == cudaSuccess) return DM_OK;
  /* Work that waits for the GPU, or allocates, cannot be recorded, but it can run. */
  (void)cudaGetLastError();
  dm_status_free(posted);
  if (ended == cudaSuccess && *graph) (void)cudaGraphDestroy(*graph);
  *graph = NULL;
  return DM_OK;
}

dm_status dm_harness_prepare(dm_harness *harness, dm_harness_series *series) {
  series->graph_of_device = NULL;
  series->next = 0;
  if (!series->graph) return DM_OK;
  cudaGraph_t graph;
  DM_TRY(record_series(harness, series, &graph));
  series->graph = graph != NULL;
  if (!graph) return DM_OK;
  cudaGraphExec_t ready = NULL;
  cudaError_t answer = cudaGraphInstantiate(&ready, graph, 0);
  (void)cudaGraphDestroy(graph);
  DM_CUDA(harness->gpu, answer);
  series->graph_of_device = ready;
  DM_CUDA(harness->gpu, cudaGraphUpload(ready, harness->stream));
  return DM_OK;
}

void dm_harness_forget(dm_harness *harness, dm_harness_series *series) {
  (void)harness;
  if (series->graph_of_device) (void)cudaGraphExecDestroy(series->graph_of_device);
  series->graph_of_device = NULL;
}

dm_status dm_harness_start(dm_harness *harness, dm_harness_series *series) {
  DM_CUDA(harness->gpu, cudaEventRecord(harness->begin, harness->stream));
  if (series->graph_of_device)
    DM_CUDA(harness->gpu, cudaGraphLaunch(series->graph_of_device, harness->stream));
  else
    DM_TRY(post_series(harness, series));
  DM_CUDA(harness->gpu, cudaEventRecord(harness->end, harness->stream));
  return DM_OK;
}

dm_status dm_harness_finish(dm_harness *harness, double *seconds) {
  float milliseconds = 0.0f;
  DM_CUDA(harness->gpu, cudaEventSynchronize(harness->end));
  DM_CUDA(harness->gpu, cudaEventElapsedTime(&milliseconds, harness->begin, harness->end));
  *seconds = 1e-3 * (double)milliseconds;
  return DM_OK;
}

/* ---- the correct result, and a kernel's distance from it ---- */

/* Allocates the reference in one piece of memory and copies its row numbers there. */
static dm_status harness_lay_out(dm_harness *harness, const dm_harness_work *work,
                                 const int64_t *rows, int64_t count) {
  const int64_t parts = dm_dtype_is_complex(work->out.dtype) ? 2 : 1;
  const int64_t places = count * work->out.cols * parts, room = dm_round_up(count * 8, 256);
  DM_TRY(dm_cuda_grow(harness->gpu, &harness->expected, room + 3 * places * 8));
  DM_TRY(dm_cuda_grow(harness->gpu, &harness->errors, places * 8));
  double *numbers = (double *)(void *)((char *)harness->expected.memory + room);
  harness->reference = (dm_reference){.rows = harness->expected.memory,
                                      .count = count,
                                      .value = numbers,
                                      .rest = numbers + places,
                                      .magnitude = numbers + 2 * places,
                                      .stream = harness->stream};
  harness->judged = places;
  /* On the stream that reads them: cudaMemcpy may return before the copy is done. */
  DM_CUDA(harness->gpu, cudaMemcpyAsync(harness->expected.memory, rows, (size_t)count * 8,
                                        cudaMemcpyHostToDevice, harness->stream));
  return DM_OK;
}

static cudaError_t compute(const dm_reference *reference, const dm_harness_work *w) {
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

dm_status dm_harness_expect(dm_harness *harness, const dm_harness_work *work, const int64_t *rows,
                            int64_t count) {
  DM_TRY(dm_cuda_enter(harness->gpu));
  DM_TRY(harness_lay_out(harness, work, rows, count));
  DM_CUDA(harness->gpu, compute(&harness->reference, work));
  DM_CUDA(harness->gpu, cudaStreamSynchronize(harness->stream));
  return DM_OK;
}

int64_t dm_harness_judged(const dm_harness *harness) {
  return harness->judged;
}

dm_status dm_harness_judge(dm_harness *harness, dm_view out, double *errors) {
  dm_cuda *gpu = harness->gpu;
  DM_TRY(dm_cuda_enter(gpu));
  DM_CUDA(gpu, dm_kernels_errors(&harness->reference, out, harness->errors.memory));
  DM_CUDA(gpu, cudaMemcpyAsync(errors, harness->errors.memory, (size_t)harness->judged * 8,
                               cudaMemcpyDeviceToHost, harness->stream));
  DM_CUDA(gpu, cudaStreamSynchronize(harness->stream));
  return DM_OK;
}

/* 0 if unknown. */
static int harness_attribute(const dm_cuda *gpu, enum cudaDeviceAttr wanted) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, wanted, gpu->index) == cudaSuccess) return value;
  (void)cudaGetLastError();
  return 0;
}

dm_status dm_harness_limits_of(dm_backend *backend, dm_harness_limits *limits) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  size_t available = 0, total = 0;
  DM_CUDA(gpu, cudaMemGetInfo(&available, &total));
  *limits = (dm_harness_limits){
      .capability = gpu->capability,
      .processors = harness_attribute(gpu, cudaDevAttrMultiProcessorCount),
      .threads = harness_attribute(gpu, cudaDevAttrMaxThreadsPerMultiProcessor),
      .blocks = harness_attribute(gpu, cudaDevAttrMaxBlocksPerMultiprocessor),
      .registers = harness_attribute(gpu, cudaDevAttrMaxRegistersPerMultiprocessor),
      .shared = harness_attribute(gpu, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
      .shared_of_block = harness_attribute(gpu, cudaDevAttrMaxSharedMemoryPerBlockOptin),
      .threads_of_block = harness_attribute(gpu, cudaDevAttrMaxThreadsPerBlock),
      .l2 = harness_attribute(gpu, cudaDevAttrL2CacheSize),
      .memory = (int64_t)total,
      .clock = 1e3 * harness_attribute(gpu, cudaDevAttrClockRate), /* kHz */
      .memory_clock = 1e3 * harness_attribute(gpu, cudaDevAttrMemoryClockRate),
      .memory_width = harness_attribute(gpu, cudaDevAttrGlobalMemoryBusWidth)};
  return DM_OK;
}
