/* async_tile: copies tiles of A and B to a ring of stages in shared memory.
 *
 * A stage holds a BK x BM tile of A, transposed and padded, and a BK x BN tile of B.  Since data
 * does not pass registers, A is transposed by copying single elements; B is copied in vectors if
 * its rows allow it. */
#ifndef DM_KERNELS_ASYNC_TILE_CUH
#define DM_KERNELS_ASYNC_TILE_CUH

#include "kernels/product/async_copy.cuh"
#include "kernels/product/vector.cuh"

template <class T, int BM, int BN, int BK> struct Stage {
  alignas(16) T a[BK][BM + Vector<T>::LENGTH];
  alignas(16) T b[BK][BN];
};

/* The copies of one thread: A_COUNT elements of A and B_COUNT vectors of B per stage. */
template <class T, int BM, int BN, int BK, int THREADS> class Copier {
public:
  static constexpr int LENGTH = Vector<T>::LENGTH, ACROSS = BN / LENGTH;
  static constexpr int A_COUNT = BM * BK / THREADS, A_STEP = THREADS / BK;         /* rows of A */
  static constexpr int B_COUNT = BK * ACROSS / THREADS, B_STEP = THREADS / ACROSS; /* rows of B */
  static_assert(A_COUNT * THREADS == BM * BK && A_STEP * BK == THREADS, "A is shared evenly");
  static_assert(B_COUNT * THREADS == BK * ACROSS && B_STEP * ACROSS == THREADS, "so is B");

  __device__ __forceinline__ Copier(const Product<T> &p, Corner corner, bool wide_b)
      : a_from(&p.a.at(corner.row, a_k())), k_left(p.a.cols), b_stride(p.b.stride), wide(wide_b) {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++) {
      /* Rows beyond the last repeat it: their results are not stored. */
      const int64_t row = min((int64_t)a_row(i), p.a.rows - 1 - corner.row);
      a_offset[i] = row * p.a.stride;
    }
    const int64_t rest = p.b.cols - corner.col - b_col();
    b_bytes = (int)sizeof(T) * (int)(rest < 0 ? 0 : rest < LENGTH ? rest : LENGTH);
    b_from = &p.b.at(b_k(), b_bytes > 0 ? corner.col + b_col() : 0);
  }

  /* Issues part PART of PARTS of the tile's copies to STAGE.  FAST: the tile is complete along k,
   * and B is copied in vectors; otherwise elements beyond the last k become 0. */
  template <int PARTS, bool FAST>
  __device__ __forceinline__ void copy(Stage<T, BM, BN, BK> &stage, int part) const {
#pragma unroll
    for (int i = 0; i < A_COUNT; i++) {
      if (i < A_COUNT * part / PARTS || i >= A_COUNT * (part + 1) / PARTS) continue;
      T *to = &stage.a[a_k()][a_row(i)];
      if (FAST)
        copy_async<sizeof(T)>(to, a_from + a_offset[i]);
      else
        copy_async_or_zero<sizeof(T)>(to, a_from + a_offset[i], a_k() < k_left);
    }
#pragma unroll
    for (int i = 0; i < B_COUNT; i++) {
      if (i < B_COUNT * part / PARTS || i >= B_COUNT * (part + 1) / PARTS) continue;
      T *to = &stage.b[b_k() + i * B_STEP][b_col()];
      const T *from = b_from + i * B_STEP * b_stride;
      const int valid = FAST || b_k() + i * B_STEP < k_left ? b_bytes : 0;
      if (FAST || wide) {
        copy_vector_async(to, from, valid);
      } else {
#pragma unroll
        for (int e = 0; e < LENGTH; e++)
          copy_async_or_zero<sizeof(T)>(to + e, from + e, valid > e * (int)sizeof(T));
      }
    }
  }

  /* Moves to the next tile along k. */
  __device__ __forceinline__ void advance() {
    a_from += BK;
    b_from += BK * b_stride;
    k_left -= BK;
  }

private:
  const T *a_from, *b_from; /* this thread's first elements in the tile */
  int64_t a_offset[A_COUNT];
  int64_t k_left; /* from the current tile on */
  int64_t b_stride;
  int b_bytes; /* bytes of each vector of B inside the matrix */
  bool wide;

  /* Threads run along k in A, so that a warp reads whole sectors, and along rows of B. */
  static __device__ __forceinline__ int a_k() {
    return threadIdx.x % BK;
  }
  static __device__ __forceinline__ int a_row(int i) {
    return threadIdx.x / BK + i * A_STEP;
  }
  static __device__ __forceinline__ int b_k() {
    return threadIdx.x / ACROSS;
  }
  static __device__ __forceinline__ int b_col() {
    return threadIdx.x % ACROSS * LENGTH;
  }
};

#endif
