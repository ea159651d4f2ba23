/* grouped: the order in which the blocks of a large product run, such that those that run together
 * share rows of A and columns of B in the L2 cache. */
#ifndef DM_KERNELS_GROUPED_CUH
#define DM_KERNELS_GROUPED_CUH

#include "kernels/product/thread_tile.cuh"

/* Blocks run in the order of their numbers: this is where BLOCK works.  They are counted down GROUP
 * rows of tiles, then on to the next column: those that run together need few different rows of A
 * and columns of B. */
template <int GROUP, class T>
static __device__ __forceinline__ Corner grouped_corner(const Matrix<T> &c, int rows, int cols,
                                                        int64_t block = blockIdx.x) {
  const int64_t down = (c.rows + rows - 1) / rows, across = (c.cols + cols - 1) / cols;
  const int64_t group = block / (GROUP * across), rest = block % (GROUP * across);
  const int64_t height = min((int64_t)GROUP, down - group * GROUP); /* the last may be lower */
  return {(group * GROUP + rest % height) * rows, rest / height * cols};
}

#endif
