/* outer_product: C (+)= A B as a sum of outer products of fragments in registers.
 *
 * The idea: for one k, the 8 x 8 sums of a thread grow by the outer product of 8 elements of A and
 * 8 of B.  These fragments are read into registers first, in vectors of 16 bytes, then multiplied.
 * The 8 columns of a thread form vectors, with those of 15 other threads in between: the warp reads
 * without bank conflicts, as in conflict_free, and C is stored in vectors, as in vectorized.
 *
 * Adds to conflict_free: vectors from shared memory to registers, 4 loads for 64 multiply-adds (8
 * in f64).
 *
 * What limits it: loading and multiplying alternate.  Multiply-adds wait for the fragments of their
 * k, and the block multiplies nothing while it waits for its tiles. */
#include "kernels/ladder/vectors.cuh"

namespace {

constexpr int BM = 128, BN = 128, BK = 8; /* the block's tiles */
constexpr int TM = 8, TN = 8;             /* the thread's tile of C */
constexpr int ACROSS = BN / TN, THREADS = BM / TM * ACROSS;

/* Two blocks for each multiprocessor hide each other's barriers; with 64 sums of f64 a thread has
 * registers for only one. */
template <class T> constexpr int BLOCKS = sizeof(T) == 4 ? 2 : 1;

/* The position of element I of a fragment in a row of a tile, for thread WHICH of OF.  Vectors of
 * different threads are interleaved: threads that load at once access adjacent vectors. */
template <class T, int OF> __device__ __forceinline__ int fragment_index(int which, int i) {
  constexpr int LENGTH = Vector<T>::LENGTH;
  return (i / LENGTH * OF + which) * LENGTH + i % LENGTH;
}

template <int OF, class T, int COUNT>
__device__ __forceinline__ void load_fragment(T (&fragment)[COUNT], const T *row, int which) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH) {
    const Vector<T> v = vector_at(row + fragment_index<T, OF>(which, i));
#pragma unroll
    for (int e = 0; e < v.LENGTH; e++) fragment[i + e] = v.at[e];
  }
}

/* Adds the product of two tiles, for thread (x, y): A(r, k) is a[k][r], B(k, c) is b[k][c].  The
 * outer products go back and forth: consecutive multiply-adds share an element of A or B, which
 * leaves few whose three registers are in the same bank of the register file. */
template <class T, int A_STRIDE, int B_STRIDE>
__device__ __forceinline__ void multiply_tiles(T (&sums)[TM][TN], const T (&a)[BK][A_STRIDE],
                                               const T (&b)[BK][B_STRIDE], int x, int y) {
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
  for (int k = 0; k < BK; k++) {
    T a_fragment[TM], b_fragment[TN];
    load_fragment<BM / TM>(a_fragment, a[k], y);
    load_fragment<BN / TN>(b_fragment, b[k], x);
#pragma unroll
    for (int j = 0; j < TN; j++)
#pragma unroll
      for (int n = 0; n < TM; n++) {
        const int i = j % 2 ? TM - 1 - n : n;
        sums[i][j] = mad(a_fragment[i], b_fragment[j], sums[i][j]);
      }
  }
}

template <class T>
__global__ void __launch_bounds__(THREADS, BLOCKS<T>) outer_product(Product<T> p, Wide wide) {
  alignas(16) __shared__ T a_tile[BK][BM + Vector<T>::LENGTH], b_tile[BK][BN];

  const int x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
  const Corner corner = block_corner(p.c, BM, BN);
  const auto row = [=](int i) { return corner.row + fragment_index<T, BM / TM>(y, i); };
  const auto col = [=](int j) { return corner.col + fragment_index<T, BN / TN>(x, j); };

  T sums[TM][TN];
  begin_vectors(sums, p, wide.c, row, col);
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    TilePart<T, BM, BK, THREADS> a_part;
    TilePart<T, BK, BN, THREADS> b_part;
    a_part.load(p.a, corner.row, k, wide.a);
    b_part.load(p.b, k, corner.col, wide.b);
    a_part.store_transposed(a_tile);
    b_part.store(b_tile);
    __syncthreads();
    multiply_tiles(sums, a_tile, b_tile, x, y);
    __syncthreads();
  }
  store_vectors(sums, p, wide.c, row, col);
}

} // namespace

extern "C" cudaError_t dm_kernels_outer_product(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  return with_real(product, [&](auto p) {
    outer_product<<<blocks, THREADS, 0, product->stream>>>(p, wide_of(p));
    return cudaGetLastError();
  });
}
