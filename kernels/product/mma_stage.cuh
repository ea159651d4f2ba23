/* mma_stage: copies tiles of A and B to a ring of stages in shared memory, with the layout of
 * global memory except for the swizzle: the pieces of 16 bytes in a row are permuted. */
#ifndef DM_KERNELS_MMA_STAGE_CUH
#define DM_KERNELS_MMA_STAGE_CUH

#include "kernels/product/async_copy.cuh"
#include "kernels/product/tensor_core.cuh"
#include "kernels/product/thread_tile.cuh"

/* The block's tile of C, the bytes of a row of A in a stage, the number of stages, the warp's tile,
 * and the resident blocks per multiprocessor. */
template <int BM_, int BN_, int DEPTH_, int STAGES_, int WM_, int WN_, int BLOCKS_ = 1>
struct MmaTiling {
  static constexpr int BM = BM_, BN = BN_, DEPTH = DEPTH_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr int WM = WM_, WN = WN_, WARPS_ACROSS = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_ACROSS * 32;
  static constexpr int A_BYTES = BM * DEPTH, STAGE_BYTES = (BM + BN) * DEPTH;
  static constexpr int STEPS = DEPTH / 32; /* steps of mma.sync */
  static constexpr int GROUP = 8;          /* rows of tiles that run together */
  static_assert(DEPTH == 64 || DEPTH == 128, "what the swizzle of A is made for");
  static_assert(STEPS % 2 == 0, "two fragments take turns");
};

/* The position of piece PIECE (of 16 bytes) in row ROW of A: the same piece of eight rows is in
 * different banks. */
template <int DEPTH> static __device__ __forceinline__ int a_piece(int row, int piece) {
  return DEPTH == 128 ? piece ^ row % 8 : piece ^ row / 2 % 4;
}

/* The copies of one thread per stage. */
template <class T, class Shape> class StageCopier {
public:
  __device__ __forceinline__ StageCopier(const Product<T> &p, Corner corner)
      : a_step(A_STEP * p.a.stride), b_step(B_STEP * p.b.stride) {
    const int a_row = threadIdx.x / A_ACROSS, a_col = threadIdx.x % A_ACROSS;
    const int b_row = threadIdx.x / B_ACROSS, b_col = threadIdx.x % B_ACROSS;
    a_from = &p.a.at(corner.row + a_row, a_col * LENGTH);
    b_from = &p.b.at(b_row, corner.col + b_col * LENGTH);
    a_to = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, a_col) * 16;
    b_to = Shape::A_BYTES + b_row * ROW_BYTES + (b_col ^ Tensor<T>::swizzle(b_row)) * 16;
    a_rows = (int)min(p.a.rows - corner.row - a_row, (int64_t)Shape::BM);
    b_bytes = bytes_of((int)min(p.b.cols - corner.col - b_col * LENGTH, (int64_t)LENGTH));
  }

  /* Issues the copies of the next tile along k to the stage at TO.  K: its columns of A and rows of
   * B inside the matrices; the others become 0. */
  __device__ __forceinline__ void copy(unsigned to, int k) {
    const int a_bytes = bytes_of(k - (int)threadIdx.x % A_ACROSS * LENGTH);
#pragma unroll
    for (int i = 0; i < A_COUNT; i++)
      copy_vector_async(to + a_to + i * A_STEP * Shape::DEPTH, a_from + i * a_step,
                        i * A_STEP < a_rows ? a_bytes : 0);
    const int b_rows = k - (int)threadIdx.x / B_ACROSS;
#pragma unroll
    for (int i = 0; i < B_COUNT; i++)
      copy_vector_async(to + b_to + i * B_STEP * ROW_BYTES, b_from + i * b_step,
                        i * B_STEP < b_rows ? b_bytes : 0);
    a_from += BK;
    b_from += B_COUNT * b_step;
  }

private:
  static constexpr int SIZE = (int)sizeof(T), LENGTH = 16 / SIZE, BK = Shape::DEPTH / SIZE;
  static constexpr int ROW_BYTES = Shape::BN * SIZE;
  static constexpr int A_ACROSS = Shape::DEPTH / 16, A_STEP = Shape::THREADS / A_ACROSS;
  static constexpr int B_ACROSS = ROW_BYTES / 16, B_STEP = Shape::THREADS / B_ACROSS;
  static constexpr int A_COUNT = Shape::BM / A_STEP, B_COUNT = BK / B_STEP;
  static_assert(A_STEP % 8 == 0 && (B_STEP % 16 == 0 || (SIZE > 1 && B_STEP % 8 == 0) ||
                                    (SIZE > 2 && B_STEP % 4 == 0)),
                "a thread's rows are swizzled alike");
  static_assert(A_COUNT * A_STEP == Shape::BM && B_COUNT * B_STEP == BK, "tiles are shared evenly");
  static_assert(ROW_BYTES % 128 == 0, "the swizzle of B needs whole turns of the banks");

  const T *a_from, *b_from;
  int64_t a_step, b_step; /* in elements, from one copy to the next */
  unsigned a_to, b_to;
  int a_rows, b_bytes; /* inside the matrices */

  /* Bytes of the existing elements of a piece. */
  static __device__ __forceinline__ int bytes_of(int elements) {
    return max(0, min(elements, LENGTH)) * SIZE;
  }
};

#endif
