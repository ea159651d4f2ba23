/* fragment: a thread's elements of A and B for one k, in registers, and their outer product.
 *
 * Fragments are loaded from a row of a tile in vectors.  Those of different threads are
 * interleaved: threads that load at once access adjacent vectors. */
#ifndef DM_KERNELS_FRAGMENT_CUH
#define DM_KERNELS_FRAGMENT_CUH

#include "kernels/product/vector.cuh"

/* The position in the row of element I of a fragment, for thread WHICH of OF. */
template <class T, int OF> static __device__ __forceinline__ int fragment_index(int which, int i) {
  constexpr int LENGTH = Vector<T>::LENGTH;
  return (i / LENGTH * OF + which) * LENGTH + i % LENGTH;
}

template <int OF, class T, int COUNT>
static __device__ __forceinline__ void load_fragment(T (&fragment)[COUNT], const T *row,
                                                     int which) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH) {
    const Vector<T> v = vector_at(row + fragment_index<T, OF>(which, i));
#pragma unroll
    for (int e = 0; e < v.LENGTH; e++) fragment[i + e] = v.at[e];
  }
}

/* Loads 16 bytes by address in shared memory, which has 32 bits instead of a pointer's 64.
 * Volatile, so that it stays after the preceding barrier. */
static __device__ __forceinline__ void load_shared(float *to, unsigned at) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(at));
}
static __device__ __forceinline__ void load_shared(double *to, unsigned at) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "r"(at));
}

/* load_fragment from shared memory; AT: the address of the thread's first vector, which is that of
 * the row plus one vector per preceding thread. */
template <int OF, class T, int COUNT>
static __device__ __forceinline__ void load_shared_fragment(T (&fragment)[COUNT], unsigned at) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH)
    load_shared(&fragment[i], at + (unsigned)(i * OF * sizeof(T)));
}

/* sums += a b^T, column by column (or BY_ROWS), back and forth: consecutive instructions share an
 * element of A or B, which leaves few whose three registers are in the same bank (counted in the
 * machine code: 2 of 100, and 10 of 100 row by row). */
template <bool BY_ROWS = false, class T, int M, int N>
static __device__ __forceinline__ void add_outer_product(T (&sums)[M][N], const T (&a)[M],
                                                         const T (&b)[N]) {
  constexpr int OUTER = BY_ROWS ? M : N, INNER = BY_ROWS ? N : M;
#pragma unroll
  for (int o = 0; o < OUTER; o++)
#pragma unroll
    for (int n = 0; n < INNER; n++) {
      const int turned = o % 2 ? INNER - 1 - n : n;
      const int i = BY_ROWS ? o : turned, j = BY_ROWS ? turned : o;
      sums[i][j] = mad(a[i], b[j], sums[i][j]);
    }
}

/* Multiplies the tiles of a Square, for thread (x, y): A(r, k) is a[k][r], B(k, c) is b[k][c]. */
template <class T, int A_STRIDE, int B_STRIDE>
static __device__ __forceinline__ void
multiply_square(T (&sums)[Square::TM][Square::TN], const T (&a)[Square::BK][A_STRIDE],
                const T (&b)[Square::BK][B_STRIDE], int x, int y) {
#pragma unroll 2 /* more would move loads so far ahead that registers run out */
  for (int k = 0; k < Square::BK; k++) {
    T a_fragment[Square::TM], b_fragment[Square::TN];
    load_fragment<Square::BM / Square::TM>(a_fragment, a[k], y);
    load_fragment<Square::BN / Square::TN>(b_fragment, b[k], x);
    add_outer_product(sums, a_fragment, b_fragment);
  }
}

/* The positions in C of the sums (i, j) of thread (x, y) of a Square. */
template <class T> struct SquarePlace {
  Corner corner;
  int x, y;

  __device__ __forceinline__ explicit SquarePlace(const Product<T> &p)
      : corner(block_corner(p.c, Square::BM, Square::BN)), x(threadIdx.x % Square::ACROSS),
        y(threadIdx.x / Square::ACROSS) {
  }
  __device__ __forceinline__ int64_t row(int i) const {
    return corner.row + fragment_index<T, Square::BM / Square::TM>(y, i);
  }
  __device__ __forceinline__ int64_t col(int j) const {
    return corner.col + fragment_index<T, Square::BN / Square::TN>(x, j);
  }
};

#endif
