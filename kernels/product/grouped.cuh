/* grouped: an order of the blocks of a large product in which concurrent blocks share rows of A and
 * columns of B in the L2 cache. */
#ifndef DM_KERNELS_GROUPED_CUH
#define DM_KERNELS_GROUPED_CUH

#include "kernels/product/thread_tile.cuh"

/* The corner of BLOCK's tile.  Blocks run in the order of their numbers, which go down GROUP rows
 * of tiles, then to the next column: concurrent blocks need few different rows of A and columns of
 * B. */
template <int GROUP, class T>
static __device__ __forceinline__ Corner grouped_corner(const Matrix<T> &c, int rows, int cols,
                                                        int64_t block = blockIdx.x) {
  const int64_t down = (c.rows + rows - 1) / rows, across = (c.cols + cols - 1) / cols;
  const int64_t group = block / (GROUP * across), rest = block % (GROUP * across);
  const int64_t height = min((int64_t)GROUP, down - group * GROUP); /* the last may be lower */
  return {(group * GROUP + rest % height) * rows, rest / height * cols};
}

#endif
