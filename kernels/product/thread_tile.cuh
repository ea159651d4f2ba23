/* thread_tile: common parts of the rungs whose threads compute several elements of C: initializing
 * sums from the old C, storing them to the new one, and products of tiles in shared memory. */
#ifndef DM_KERNELS_THREAD_TILE_CUH
#define DM_KERNELS_THREAD_TILE_CUH

#include "kernels/helpers/operand.cuh"

/* The position in C of element (0, 0) of this block's tile. */
struct Corner {
  int64_t row, col;
};

template <class T>
static __device__ __forceinline__ Corner block_corner(const Matrix<T> &c, int rows, int cols) {
  const int64_t across = (c.cols + cols - 1) / cols;
  return {blockIdx.x / across * rows, blockIdx.x % across * cols};
}

/* ROW(i) and COL(j): the position in C of this thread's sum (i, j). */
template <class T, int M, int N, class Row, class Col>
static __device__ __forceinline__ void begin_sums(T (&sums)[M][N], const Product<T> &p, Row row,
                                                  Col col) {
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++) sums[i][j] = p.old(row(i), col(j));
}

template <class T, int M, int N, class Row, class Col>
static __device__ __forceinline__ void store_sums(const T (&sums)[M][N], const Product<T> &p,
                                                  Row row, Col col) {
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++)
      if (row(i) < p.c.rows && col(j) < p.c.cols) p.c.at(row(i), col(j)) = sums[i][j];
}

/* sums(i, j) += A(row + i, k) B(k, col + j) for all k of two tiles in shared memory. */
template <class T, int M, int N, int BM, int BK, int BN>
static __device__ __forceinline__ void multiply_tiles(T (&sums)[M][N], const T (&a)[BM][BK],
                                                      const T (&b)[BK][BN], int row, int col) {
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
  for (int k = 0; k < BK; k++)
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < N; j++) sums[i][j] = mad(a[row + i][k], b[k][col + j], sums[i][j]);
}

/* From thread_tile_2d to double_buffer_async: a block of 16 x 16 threads, 8 x 8 elements each. */
struct Square {
  static constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
  static constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
  static constexpr int ACROSS = BN / TN, THREADS = (BM / TM) * ACROSS;
};

/* Two blocks per multiprocessor, which hide each other's barriers; with 64 sums of f64 per thread,
 * registers suffice for only one. */
template <class T> constexpr int SQUARE_BLOCKS = sizeof(T) == 4 ? 2 : 1;

#endif
