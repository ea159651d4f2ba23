/* fragment: the elements of A and B that a thread needs for one k, in registers, and their outer
 * product.
 *
 * A fragment is read from a row of a tile in vectors.  The vectors of one thread lie apart, and
 * those of its neighbours between them: so the threads that read together read adjacent vectors. */
#ifndef DM_KERNELS_FRAGMENT_CUH
#define DM_KERNELS_FRAGMENT_CUH

#include "kernels/product/vector.cuh"

/* Where element I of a thread's fragment lies in the row: the thread is number WHICH of OF. */
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

/* 16 bytes of shared memory, by their address there: 32 bits, where a pointer takes 64.  Volatile,
 * so that it stays behind the barrier before it. */
static __device__ __forceinline__ void load_shared(float *to, unsigned at) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(at));
}
static __device__ __forceinline__ void load_shared(double *to, unsigned at) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "r"(at));
}

/* load_fragment from a row of shared memory that begins at AT, for thread 0: the addresses of the
 * others lie as many vectors behind it. */
template <int OF, class T, int COUNT>
static __device__ __forceinline__ void load_shared_fragment(T (&fragment)[COUNT], unsigned at) {
#pragma unroll
  for (int i = 0; i < COUNT; i += Vector<T>::LENGTH)
    load_shared(&fragment[i], at + (unsigned)(i * OF * sizeof(T)));
}

/* sums += a b^T.  Column by column, every other one upwards: at the turn the same element of A is
 * used twice, the one of B all along, and few instructions are left whose three registers lie in
 * the same bank (counted in the machine code: 2 of 100, and 10 of 100 row by row). */
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

/* The product of the tiles of a Square: A(r, k) at a[k][r], B(k, c) at b[k][c], thread (x, y). */
template <class T, int A_STRIDE, int B_STRIDE>
static __device__ __forceinline__ void
multiply_square(T (&sums)[Square::TM][Square::TN], const T (&a)[Square::BK][A_STRIDE],
                const T (&b)[Square::BK][B_STRIDE], int x, int y) {
#pragma unroll 2 /* more, and loads move so far ahead that registers run out */
  for (int k = 0; k < Square::BK; k++) {
    T a_fragment[Square::TM], b_fragment[Square::TN];
    load_fragment<Square::BM / Square::TM>(a_fragment, a[k], y);
    load_fragment<Square::BN / Square::TN>(b_fragment, b[k], x);
    add_outer_product(sums, a_fragment, b_fragment);
  }
}

/* Where in C the sums (i, j) of thread (x, y) of a Square lie. */
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
