/* wmma: C (+)= A B on tensor cores, with the fragments of nvcuda::wmma.
 *
 * The idea: a tensor core multiplies small matrices at once, 16 x 16 by 16 x 16 (k = 8 in TF32),
 * and adds the product to sums in f32.  The operands are fragments: matrices that the 32 threads of
 * a warp hold together, in an unspecified layout.  The whole warp calls the functions that load
 * them from shared memory and store them.  (CUDA C++ Programming Guide, "Warp Matrix Functions")
 *
 * Adds to warp_tile: fragments instead of numbers; a warp computes 64 x 32 elements of C in eight
 * of them.  It keeps the asynchronous copies, with two stages; padding of 16 bytes for each row
 * avoids bank conflicts.  Since the layout of sums is unspecified, they pass through shared memory
 * to C. f32 is rounded to TF32; rows not aligned to 16 bytes are copied first.
 *
 * What limits it: shared memory and latency.  A warp loads 6 fragments for 8 products, just before
 * their use, and on Hopper these instructions reach at most two thirds of the tensor cores' rate.
 */

#include <mma.h>

#include "core/dtype.h"
#include "kernels/ladder/async_copy.cuh"

namespace {

namespace wmma = nvcuda::wmma;

/* The element type of a fragment, and its depth. */
template <class T> struct Part {
  typedef T Type;
  static constexpr int DEPTH = 16;
};
template <> struct Part<float> {
  typedef wmma::precision::tf32 Type;
  static constexpr int DEPTH = 8;
};

constexpr int SIDE = 16; /* rows and columns of a fragment */
constexpr int BM = 128, BN = 128, THREADS = 256;
constexpr int WM = 64, WN = 32, WARPS_ACROSS = BN / WN; /* a warp's tile */
constexpr int M = WM / SIDE, N = WN / SIDE;             /* fragments of a warp's tile */

template <class T>
using FragmentA = wmma::fragment<wmma::matrix_a, SIDE, SIDE, Part<T>::DEPTH, typename Part<T>::Type,
                                 wmma::row_major>;
template <class T>
using FragmentB = wmma::fragment<wmma::matrix_b, SIDE, SIDE, Part<T>::DEPTH, typename Part<T>::Type,
                                 wmma::row_major>;
template <class T>
using FragmentC = wmma::fragment<wmma::accumulator, SIDE, SIDE, Part<T>::DEPTH, float>;

template <class Fragment> __device__ __forceinline__ void round_elements(Fragment &) {
}
template <class Use, int M_, int N_, int K, class Order>
__device__ __forceinline__ void
round_elements(wmma::fragment<Use, M_, N_, K, wmma::precision::tf32, Order> &fragment) {
#pragma unroll
  for (int e = 0; e < fragment.num_elements; e++)
    fragment.x[e] = wmma::__float_to_tf32(fragment.x[e]);
}

template <class T> struct alignas(32) Tiles { /* fragments begin at multiples of 32 bytes */
  static constexpr int BK = 64 / (int)sizeof(T), PADDING = 16 / (int)sizeof(T);
  T a[BM][BK + PADDING];
  T b[BK][BN + PADDING];
};

/* Copies the tile of M at (row, col); elements outside of M become 0. */
template <int COLS, class T, int ROWS, int STRIDE>
__device__ __forceinline__ void copy_tile(T (&tile)[ROWS][STRIDE], const Matrix<const T> &m,
                                          int64_t row, int64_t col) {
  constexpr int LENGTH = 16 / (int)sizeof(T), ACROSS = COLS / LENGTH;
#pragma unroll
  for (int i = 0; i < ROWS * ACROSS; i += THREADS) {
    const int r = (i + threadIdx.x) / ACROSS, c = (i + threadIdx.x) % ACROSS * LENGTH;
    const int64_t inside = row + r < m.rows ? min(m.cols - col - c, (int64_t)LENGTH) : 0;
    copy_vector_async(&tile[r][c], &m.at(row + r, col + c),
                      inside > 0 ? (int)inside * (int)sizeof(T) : 0);
  }
}

/* Multiplies two tiles in shared memory, for the warp at (row, col) of the block's tile. */
template <class T>
__device__ __forceinline__ void multiply(FragmentC<T> (&sums)[M][N], const Tiles<T> &tiles, int row,
                                         int col) {
  constexpr int DEPTH = Part<T>::DEPTH, BK = Tiles<T>::BK, PADDING = Tiles<T>::PADDING;
#pragma unroll
  for (int k = 0; k < BK; k += DEPTH) {
    FragmentB<T> b[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
      wmma::load_matrix_sync(b[j], &tiles.b[k][col + j * SIDE], BN + PADDING);
      round_elements(b[j]);
    }
#pragma unroll
    for (int i = 0; i < M; i++) {
      FragmentA<T> a;
      wmma::load_matrix_sync(a, &tiles.a[row + i * SIDE][k], BK + PADDING);
      round_elements(a);
#pragma unroll
      for (int j = 0; j < N; j++) wmma::mma_sync(sums[i][j], a, b[j], sums[i][j]);
    }
  }
}

/* Stores a fragment of sums to C at (row, col) through PATCH, private to the warp. */
template <class T>
__device__ __forceinline__ void store(const Product<T> &p, int64_t row, int64_t col,
                                      const FragmentC<T> &sums, float (&patch)[SIDE][SIDE]) {
  wmma::store_matrix_sync(&patch[0][0], sums, SIDE, wmma::mem_row_major);
  __syncwarp();
  const int lane = threadIdx.x % 32, x = lane % SIDE;
#pragma unroll
  for (int y = lane / SIDE; y < SIDE; y += 32 / SIDE)
    if (row + y < p.c.rows && col + x < p.c.cols)
      p.c.at(row + y, col + x) = p.old(row + y, col + x) + patch[y][x];
  __syncwarp();
}

template <class T> __global__ void __launch_bounds__(THREADS, 2) wmma_product(Product<T> p) {
  constexpr int BK = Tiles<T>::BK;
  __shared__ Tiles<T> tiles[2];
  alignas(32) __shared__ float patches[THREADS / 32][SIDE][SIDE];

  const Corner corner = block_corner(p.c, BM, BN);
  const int warp = threadIdx.x / 32;
  const int row = warp / WARPS_ACROSS * WM, col = warp % WARPS_ACROSS * WN;
  const auto copy_tiles = [&](int which, int64_t k) {
    copy_tile<BK>(tiles[which].a, p.a, corner.row, k);
    copy_tile<BN>(tiles[which].b, p.b, k, corner.col);
    commit_copies();
  };

  FragmentC<T> sums[M][N];
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++) wmma::fill_fragment(sums[i][j], 0.0f);
  copy_tiles(0, 0);
  int now = 0;
  for (int64_t k = 0; k < p.a.cols; k += BK) {
    copy_tiles(1 - now, k + BK); /* beyond the last k this only stores zeros */
    wait_for_copies<1>();
    __syncthreads();
    multiply(sums, tiles[now], row, col);
    __syncthreads();
    now = 1 - now;
  }
  wait_for_copies<0>();
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++)
      store<T>(p, corner.row + row + i * SIDE, corner.col + col + j * SIDE, sums[i][j],
               patches[warp]);
}

template <class T> cudaError_t launch(const dm_gemm *product) {
  const unsigned blocks = blocks_for_tiles(product->c, BM, BN);
  wmma_product<<<blocks, THREADS, 0, product->stream>>>(product_of<T>(product));
  return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t dm_kernels_wmma(const dm_gemm *product) {
  dm_gemm aligned = *product;
  const cudaError_t error = dm_align_operands(&aligned);
  if (error != cudaSuccess) return error;
  switch (product->dtype) {
  case DM_F16:
    return launch<__half>(&aligned);
  case DM_BF16:
    return launch<__nv_bfloat16>(&aligned);
  case DM_F32: /* TF32, says the registry */
    return launch<float>(&aligned);
  default:
    return cudaErrorInvalidValue;
  }
}
