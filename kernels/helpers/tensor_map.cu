/* tensor_map: describes a matrix in global memory to TMA.  Maps are plain values, passed as kernel
 * parameters. */
#include "kernels/ladder/hopper.cuh"

namespace {

constexpr int64_t ALIGNMENT = 16; /* rows must begin at multiples of this number of bytes */

typedef decltype(&cuTensorMapEncodeTiled) TensorMapEncoder;

/* The encoder is part of the driver, which is not linked, so that the program starts without one.
 * Querying its address takes a fraction of a microsecond. */
TensorMapEncoder tensor_map_encoder() {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<TensorMapEncoder>(found);
}

} // namespace

cudaError_t dm_tensor_map(CUtensorMap *map, CUtensorMapDataType type, int size, void *base,
                          int64_t rows, int64_t cols, int64_t stride, int box_rows) {
  const TensorMapEncoder encode = tensor_map_encoder();
  if (!encode) return cudaErrorNotSupported;
  const int64_t row_bytes = (cols * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const cuuint64_t extent[2] = {(cuuint64_t)cols, (cuuint64_t)rows};
  const cuuint64_t pitch[1] = {(cuuint64_t)(rows > 1 ? stride * size : row_bytes)};
  const cuuint32_t box[2] = {(cuuint32_t)(BOX_ROW / size), (cuuint32_t)box_rows};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result =
      encode(map, type, 2, base, extent, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}
