/* Resources of kernels. A call is recorded in a graph instead of run, and the driver is queried
 * about the function of the graph's node, so library kernels are covered, too. */
#ifdef DM_HAVE_CUDA

#include <cuda.h>
#include <stdlib.h>

#include "backend/cuda_lab.h"
#include "core/buffer.h"

/* Driver functions in use. */
typedef struct driver {
  CUresult (*node)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *parameters);
  CUresult (*function_of)(CUfunction *function, CUkernel kernel);
  CUresult (*attribute)(int *value, CUfunction_attribute attribute, CUfunction function);
  CUresult (*blocks)(int *blocks, CUfunction function, int threads, size_t shared);
} driver;

static bool find_driver(driver *d) {
  return dm_cuda_driver_symbol("cuGraphKernelNodeGetParams", &d->node) &&
         dm_cuda_driver_symbol("cuKernelGetFunction", &d->function_of) &&
         dm_cuda_driver_symbol("cuFuncGetAttribute", &d->attribute) &&
         dm_cuda_driver_symbol("cuOccupancyMaxActiveBlocksPerMultiprocessor", &d->blocks);
}

/* 0 if unknown. */
static int attribute(const dm_cuda *gpu, enum cudaDeviceAttr wanted) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, wanted, gpu->index) == cudaSuccess) return value;
  (void)cudaGetLastError();
  return 0;
}

dm_status dm_lab_limits_of(dm_backend *backend, dm_lab_limits *limits) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  size_t available = 0, total = 0;
  DM_CUDA(gpu, cudaMemGetInfo(&available, &total));
  *limits =
      (dm_lab_limits){.capability = gpu->capability,
                      .processors = attribute(gpu, cudaDevAttrMultiProcessorCount),
                      .threads = attribute(gpu, cudaDevAttrMaxThreadsPerMultiProcessor),
                      .blocks = attribute(gpu, cudaDevAttrMaxBlocksPerMultiprocessor),
                      .registers = attribute(gpu, cudaDevAttrMaxRegistersPerMultiprocessor),
                      .shared = attribute(gpu, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                      .shared_of_block = attribute(gpu, cudaDevAttrMaxSharedMemoryPerBlockOptin),
                      .threads_of_block = attribute(gpu, cudaDevAttrMaxThreadsPerBlock),
                      .l2 = attribute(gpu, cudaDevAttrL2CacheSize),
                      .memory = (int64_t)total,
                      .clock = 1e3 * attribute(gpu, cudaDevAttrClockRate), /* kHz */
                      .memory_clock = 1e3 * attribute(gpu, cudaDevAttrMemoryClockRate),
                      .memory_width = attribute(gpu, cudaDevAttrGlobalMemoryBusWidth)};
  return DM_OK;
}

/* Describes a node; false if it is not a kernel or has no readable attributes. */
static bool describe(const driver *d, cudaGraphNode_t node, dm_lab_occupancy *o) {
  enum cudaGraphNodeType type;
  CUDA_KERNEL_NODE_PARAMS_v2 p = {0};
  if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel)
    return false;
  if (d->node((CUgraphNode)node, &p) != CUDA_SUCCESS) return false;
  if (!p.func && d->function_of(&p.func, p.kern) != CUDA_SUCCESS) return false;
  int shared, registers, blocks;
  const int threads = (int)(p.blockDimX * p.blockDimY * p.blockDimZ);
  if (d->attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, p.func) != CUDA_SUCCESS ||
      d->attribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, p.func) != CUDA_SUCCESS ||
      d->blocks(&blocks, p.func, threads, p.sharedMemBytes) != CUDA_SUCCESS)
    return false;
  *o = (dm_lab_occupancy){.known = true,
                          .registers = registers,
                          .threads = threads,
                          .shared = (int64_t)shared + p.sharedMemBytes,
                          .blocks = blocks};
  return true;
}

/* Describes the main kernel: the last of a product, after preparations; the first of a reduction,
 * before the sum of the blocks' parts. */
static void describe_main(const driver *d, const cudaGraphNode_t *nodes, size_t count, bool last,
                          dm_lab_occupancy *occupancy) {
  for (size_t i = 0; i < count; i++)
    if (describe(d, nodes[last ? count - 1 - i : i], occupancy)) return;
}

static dm_status look_at(dm_lab *lab, cudaGraph_t graph, bool last, dm_lab_occupancy *occupancy) {
  driver d;
  size_t count = 0;
  void *nodes;
  if (!find_driver(&d)) return DM_OK;
  DM_CUDA(lab->gpu, cudaGraphGetNodes(graph, NULL, &count));
  DM_TRY(dm_buffer_zeroed((int64_t)count + 1, sizeof(cudaGraphNode_t), &nodes));
  cudaError_t answer = cudaGraphGetNodes(graph, nodes, &count);
  if (answer == cudaSuccess) describe_main(&d, nodes, count, last, occupancy);
  free(nodes);
  DM_CUDA(lab->gpu, answer);
  return DM_OK;
}

dm_status dm_lab_occupancy_of(dm_lab *lab, const dm_lab_work *work, dm_lab_occupancy *occupancy) {
  dm_lab_series once = {.works = work, .sets = 1, .launches = 1};
  cudaGraph_t graph;
  int most = 0;
  *occupancy = (dm_lab_occupancy){0};
  DM_TRY(dm_cuda_lab_record(lab, &once, &graph));
  if (!graph) return DM_OK;
  dm_status status = look_at(lab, graph, work->op != DM_DOT, occupancy);
  (void)cudaGraphDestroy(graph);
  DM_TRY(status);
  DM_CUDA(lab->gpu,
          cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, lab->gpu->index));
  occupancy->occupancy = (double)occupancy->blocks * occupancy->threads / most;
  return DM_OK;
}

#endif
