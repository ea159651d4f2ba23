/* kahan: the kernel of tiled_32 with compensated summation, in f32 only.
 *
 * The idea: adding a small product to a large sum rounds away its low bits; that error can be
 * computed, kept next to the sum, and subtracted from the next product (Kahan, CACM 8, 1965).  The
 * error of a sum then no longer grows with k: about 2 u |A||B| instead of k u |A||B|, with the unit
 * roundoff u = 2^-24.
 *
 * Adds to tiled_32: accuracy, not speed.  The three additions are almost free, because loads from
 * shared memory are the limit.
 *
 * What limits it: as in tiled_32.  The correction is lost at the end of a panel of k, and a sum
 * that overflows becomes NaN, because the correction of an infinity is NaN. */
#include "kernels/gemm.h"

namespace {

constexpr int TILE = 32;

__global__ void __launch_bounds__(TILE *TILE) kahan(Product<float> p) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];

  const int x = threadIdx.x, y = threadIdx.y;
  const Corner corner = block_corner(p.c, TILE, TILE);
  const int64_t row = corner.row + y, col = corner.col + x;

  float sum = p.old(row, col), excess = 0.0f; /* excess: SUM minus the true sum */
  for (int64_t k = 0; k < p.a.cols; k += TILE) {
    a_tile[y][x] = load<float>(p.a, row, k + x);
    b_tile[y][x] = load<float>(p.b, k + y, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) {
      const float term = fmaf(a_tile[y][i], b_tile[i][x], -excess);
      const float next = __fadd_rn(sum, term);
      excess = __fsub_rn(__fsub_rn(next, sum), term);
      sum = next;
    }
    __syncthreads();
  }
  if (row < p.c.rows && col < p.c.cols) p.c.at(row, col) = sum;
}

} // namespace

extern "C" cudaError_t dm_kernels_kahan(const dm_gemm *product) {
  if (product->size != 4) return cudaErrorInvalidValue;
  const unsigned blocks = blocks_for_tiles(product->c, TILE, TILE);
  kahan<<<blocks, dim3(TILE, TILE), 0, product->stream>>>(product_of<float>(product));
  return cudaGetLastError();
}
