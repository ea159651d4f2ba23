/* wgmma_launch: how kernels start whose blocks form clusters and go from tile to tile. */
#ifndef DM_KERNELS_WGMMA_LAUNCH_CUH
#define DM_KERNELS_WGMMA_LAUNCH_CUH

#include "kernels/helpers/matrix.cuh"

/* KERNEL(WORK) for so many TILES, of which a cluster computes one at a time, with BYTES of shared
 * memory.  No more clusters than finish at the same time: those without a last tile would only draw
 * power. */
template <class Shape, class Work>
static cudaError_t launch_clusters(void (*kernel)(const Work), const Work &work, int64_t tiles,
                                   int bytes, int processors, cudaStream_t stream) {
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const int most = processors / Shape::CLUSTER;
  const int64_t rounds = divide_up(tiles, most < 1 ? 1 : most);
  const int clusters = (int)divide_up(tiles, rounds);
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {Shape::CLUSTER, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config = {
      dim3(clusters * Shape::CLUSTER), dim3(Shape::THREADS), (size_t)bytes, stream, attributes, 2};
  return cudaLaunchKernelEx(&config, kernel, work);
}

#endif
