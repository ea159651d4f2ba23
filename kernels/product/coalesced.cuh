/* coalesced: a thread for each element of C, warps along rows: shared by naive_coalesced and
 * pitched. */
#ifndef DM_KERNELS_COALESCED_CUH
#define DM_KERNELS_COALESCED_CUH

#include "kernels/helpers/matrix.cuh"

constexpr int COALESCED_COLS = 32, COALESCED_ROWS = 8; /* of C, per block */

template <class T> static __global__ void coalesced(Product<T> p) {
  const int64_t col = (int64_t)blockIdx.x * COALESCED_COLS + threadIdx.x;
  if (col >= p.c.cols) return;
  const int64_t step = (int64_t)gridDim.y * COALESCED_ROWS; /* at most 65535 blocks in y */
  for (int64_t row = (int64_t)blockIdx.y * COALESCED_ROWS + threadIdx.y; row < p.c.rows;
       row += step)
    multiply_element(p, row, col);
}

template <class T> cudaError_t launch_coalesced(Product<T> p, cudaStream_t stream) {
  const dim3 grid(blocks_for(divide_up(p.c.cols, COALESCED_COLS)),
                  blocks_for(divide_up(p.c.rows, COALESCED_ROWS), 65535));
  coalesced<<<grid, dim3(COALESCED_COLS, COALESCED_ROWS), 0, stream>>>(p);
  return cudaGetLastError();
}

#endif
