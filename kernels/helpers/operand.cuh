/* operand: matrices and products as the kernels see them, on the device. */
#ifndef DM_KERNELS_OPERAND_CUH
#define DM_KERNELS_OPERAND_CUH

#include "kernels/helpers/real.cuh"

/* Rows of consecutive elements, STRIDE elements apart. */
template <class T> struct Matrix {
  T *base;
  int64_t rows, cols, stride;

  __device__ __forceinline__ T &at(int64_t row, int64_t col) const {
    return base[row * stride + col];
  }
};

/* Element (row, col), or 0 beyond the border, which adds nothing to sums. */
template <class Sum, class T>
static __device__ __forceinline__ Sum load(const Matrix<const T> &m, int64_t row, int64_t col) {
  return row < m.rows && col < m.cols ? widen<Sum>(m.at(row, col)) : Sum();
}

/* C (+)= A B. */
template <class Element, class Sum = typename Types<Element>::Sum> struct Product {
  typedef Element Number;
  Matrix<Sum> c;
  Matrix<const Element> a, b;
  bool accumulate;

  /* The initial sum of element (row, col). */
  __device__ __forceinline__ Sum old(int64_t row, int64_t col) const {
    return accumulate && row < c.rows && col < c.cols ? c.at(row, col) : Sum();
  }
};

/* Whether the rows of each matrix can be moved in vectors of 16 bytes. */
struct Wide {
  bool a, b, c;
};

/* Computes one element of C: its row of A times its column of B. */
template <class T>
static __device__ __forceinline__ void multiply_element(const Product<T> &p, int64_t row,
                                                        int64_t col) {
  T sum = p.old(row, col);
  for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
  p.c.at(row, col) = sum;
}

#endif
