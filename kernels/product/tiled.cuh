/* tiled: the loop along k with square tiles, shared by 07_tiled.cu and 08_kahan.cu. */
#ifndef DM_KERNELS_TILED_CUH
#define DM_KERNELS_TILED_CUH

#include "kernels/helpers/matrix.cuh"

/* A block of TILE x TILE threads computes a TILE x TILE tile of C, one element per thread.  Adder
 * holds the sum and adds products to it. */
template <class Adder, int TILE, class Element, class Sum>
static __device__ __forceinline__ void multiply_by_tiles(const Product<Element, Sum> &p) {
  __shared__ Sum a_tile[TILE][TILE], b_tile[TILE][TILE];

  const int64_t tiles_across = (p.c.cols + TILE - 1) / TILE;
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t row = blockIdx.x / tiles_across * TILE + y;
  const int64_t col = blockIdx.x % tiles_across * TILE + x;

  Adder adder(p.old(row, col));
  for (int64_t k = 0; k < p.a.cols; k += TILE) {
    a_tile[y][x] = load<Sum>(p.a, row, k + x);
    b_tile[y][x] = load<Sum>(p.b, k + y, col);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++) adder.add(a_tile[y][i], b_tile[i][x]);
    __syncthreads();
  }
  if (row < p.c.rows && col < p.c.cols) p.c.at(row, col) = adder.sum;
}

#endif
