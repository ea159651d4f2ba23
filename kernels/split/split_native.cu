/* What a product of split operands leaves out: rows and columns of C that core/split.h has no
 * exponents for, in f32.  They are few, so that tiles are small, and those without any are left
 * out. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/product/thread_tile.cuh"
#include "kernels/split_kernels.h"

namespace {

constexpr int TILE = 64, DEEP = 16, EACH = 4, THREADS = (TILE / EACH) * (TILE / EACH);

struct NativeWork {
  Product<float> product;
  const int32_t *rows, *cols;
  const dm_split_count *count;

  __device__ __forceinline__ bool row_is_native(int64_t row) const {
    return row < product.c.rows && rows[row] == DM_SPLIT_NATIVE;
  }
  __device__ __forceinline__ bool col_is_native(int64_t col) const {
    return col < product.c.cols && cols[col] == DM_SPLIT_NATIVE;
  }
  __device__ __forceinline__ bool is_native(int64_t row, int64_t col) const {
    return row < product.c.rows && col < product.c.cols &&
           (rows[row] == DM_SPLIT_NATIVE || cols[col] == DM_SPLIT_NATIVE);
  }
};

/* Whether the block's tile has an element to compute. */
__device__ __forceinline__ bool is_needed(const NativeWork &work, const Corner &corner) {
  const int t = threadIdx.x;
  const bool native = t < TILE       ? work.row_is_native(corner.row + t)
                      : t < 2 * TILE ? work.col_is_native(corner.col + t - TILE)
                                     : false;
  return __syncthreads_or(native);
}

__global__ void __launch_bounds__(THREADS) multiply_native(const NativeWork work) {
  __shared__ float a[DEEP][TILE + EACH], b[DEEP][TILE];
  if (work.count->now == 0) return;
  const Product<float> &p = work.product;
  const Corner corner = block_corner(p.c, TILE, TILE);
  if (!is_needed(work, corner)) return;
  const int x = threadIdx.x % (TILE / EACH), y = threadIdx.x / (TILE / EACH);
  const auto row = [&](int i) { return corner.row + y * EACH + i; };
  const auto col = [&](int j) { return corner.col + x + j * (TILE / EACH); };
  float sums[EACH][EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++)
      sums[i][j] = work.is_native(row(i), col(j)) ? p.c.at(row(i), col(j)) : 0.0f;
  for (int64_t k = 0; k < p.a.cols; k += DEEP) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * DEEP; i += THREADS) {
      a[i % DEEP][i / DEEP] = load<float>(p.a, corner.row + i / DEEP, k + i % DEEP);
      b[i / TILE][i % TILE] = load<float>(p.b, k + i / TILE, corner.col + i % TILE);
    }
    __syncthreads();
    /* no more than there are: 0 times Inf is NaN */
    const int deep = (int)min((int64_t)DEEP, p.a.cols - k);
    for (int l = 0; l < deep; l++)
#pragma unroll
      for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
          sums[i][j] = mad(a[l][y * EACH + i], b[l][x + j * (TILE / EACH)], sums[i][j]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int j = 0; j < EACH; j++)
      if (work.is_native(row(i), col(j))) p.c.at(row(i), col(j)) = sums[i][j];
}

} // namespace

cudaError_t dm_kernels_split_native(const dm_split_native *n) {
  const dm_view c = n->c, a = n->a, b = n->b;
  const NativeWork work = {
      {matrix_of<float>(c), matrix_of<const float>(a), matrix_of<const float>(b), true},
      n->rows,
      n->cols,
      n->count};
  const unsigned blocks = blocks_for_tiles(c, TILE, TILE);
  if (c.dtype != DM_F32 || blocks == 0) return cudaErrorInvalidValue;
  multiply_native<<<blocks, THREADS, 0, n->stream>>>(work);
  return cudaGetLastError();
}
