/* wgmma_launch: launches persistent kernels whose blocks form clusters. */
#ifndef DM_KERNELS_WGMMA_LAUNCH_CUH
#define DM_KERNELS_WGMMA_LAUNCH_CUH

#include "kernels/helpers/matrix.cuh"

/* Launches KERNEL(WORK) with BYTES of shared memory for TILES, of which a cluster computes one at
 * once.  Uses only as many clusters as the number of rounds needs: more would only draw power. */
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
