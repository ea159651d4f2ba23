/* vectors: 16 bytes of a row, the most that one instruction moves; from rung 12 on.  Rows that are
 * not aligned to 16 bytes, and ends of rows, are moved element by element. */
#ifndef DM_KERNELS_VECTORS_CUH
#define DM_KERNELS_VECTORS_CUH

#include "kernels/gemm.h"

template <class T> struct alignas(16) Vector {
  static constexpr int LENGTH = 16 / (int)sizeof(T);
  T at[LENGTH];
};

/* Whether the rows of each matrix can be moved in vectors. */
struct Wide {
  bool a, b, c;
};

template <class T> bool is_wide(const Matrix<T> &m) {
  return (uintptr_t)m.base % 16 == 0 && m.stride * sizeof(T) % 16 == 0;
}
template <class T> Wide wide_of(const Product<T> &p) {
  return {is_wide(p.a), is_wide(p.b), is_wide(p.c)};
}

template <class T> static __device__ __forceinline__ Vector<T> &vector_at(T *p) {
  return *reinterpret_cast<Vector<T> *>(p);
}
template <class T> static __device__ __forceinline__ const Vector<T> &vector_at(const T *p) {
  return *reinterpret_cast<const Vector<T> *>(p);
}

/* Elements (row, col), (row, col + 1), ...; 0 beyond the border. */
template <class T>
static __device__ __forceinline__ Vector<T> load_vector(const Matrix<const T> &m, int64_t row,
                                                        int64_t col, bool wide) {
  Vector<T> v;
  if (wide && row < m.rows && col + v.LENGTH <= m.cols) return vector_at(&m.at(row, col));
#pragma unroll
  for (int e = 0; e < v.LENGTH; e++) v.at[e] = load<T>(m, row, col + e);
  return v;
}

/* SUMS = the old C, or 0.  ROW(i) and COL(j): the position of sum (i, j) in C, called only for the
 * first j of a vector. */
template <class T, int M, int N, class Row, class Col>
static __device__ __forceinline__ void begin_vectors(T (&sums)[M][N], const Product<T> &p,
                                                     bool wide, Row row, Col col) {
  const Matrix<const T> c = {p.c.base, p.c.rows, p.c.cols, p.c.stride};
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j += Vector<T>::LENGTH) {
      const Vector<T> v = p.accumulate ? load_vector(c, row(i), col(j), wide) : Vector<T>();
#pragma unroll
      for (int e = 0; e < v.LENGTH; e++) sums[i][j + e] = v.at[e];
    }
}

template <class T, int M, int N, class Row, class Col>
static __device__ __forceinline__ void store_vectors(const T (&sums)[M][N], const Product<T> &p,
                                                     bool wide, Row row, Col col) {
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j += Vector<T>::LENGTH) {
      const int64_t r = row(i), c = col(j);
      if (r >= p.c.rows) continue;
      Vector<T> v;
#pragma unroll
      for (int e = 0; e < v.LENGTH; e++) v.at[e] = sums[i][j + e];
      if (wide && c + v.LENGTH <= p.c.cols) {
        vector_at(&p.c.at(r, c)) = v;
        continue;
      }
#pragma unroll
      for (int e = 0; e < v.LENGTH; e++)
        if (c + e < p.c.cols) p.c.at(r, c + e) = v.at[e];
    }
}

/* A thread's part of a tile of ROWS x COLS, in registers between global and shared memory. */
template <class T, int ROWS, int COLS, int THREADS> struct TilePart {
  static constexpr int LENGTH = Vector<T>::LENGTH, ACROSS = COLS / LENGTH; /* vectors per row */
  static constexpr int COUNT = ROWS * ACROSS / THREADS;
  static_assert(ROWS * ACROSS % THREADS == 0, "every thread moves as much");
  Vector<T> part[COUNT];

  static __device__ __forceinline__ int row(int i) {
    return (i * THREADS + threadIdx.x) / ACROSS;
  }
  static __device__ __forceinline__ int col(int i) {
    return (i * THREADS + threadIdx.x) % ACROSS * LENGTH;
  }

  /* Loads from the tile of M at (row0, col0). */
  __device__ __forceinline__ void load(const Matrix<const T> &m, int64_t row0, int64_t col0,
                                       bool wide) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) part[i] = load_vector(m, row0 + row(i), col0 + col(i), wide);
  }

  __device__ __forceinline__ void store(T (&tile)[ROWS][COLS]) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++) vector_at(&tile[row(i)][col(i)]) = part[i];
  }

  /* Stores to TILE transposed; its rows may be padded. */
  template <int STRIDE>
  __device__ __forceinline__ void store_transposed(T (&tile)[COLS][STRIDE]) const {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
      for (int e = 0; e < LENGTH; e++) tile[col(i) + e][row(i)] = part[i].at[e];
  }
};

#endif
