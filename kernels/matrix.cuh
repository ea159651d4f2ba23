/* matrix: matrices and products as the kernels see them. */
#ifndef DM_KERNELS_MATRIX_CUH
#define DM_KERNELS_MATRIX_CUH

#include "kernels/kernels.h"
#include "kernels/number.cuh"

/* Rows of consecutive elements, STRIDE elements apart. */
template <class T> struct Matrix {
  T *base;
  int64_t rows, cols, stride;

  __device__ __forceinline__ T &at(int64_t row, int64_t col) const {
    return base[row * stride + col];
  }
};

template <class T> Matrix<T> matrix_of(dm_view view) {
  return {static_cast<T *>(view.base), view.rows, view.cols, view.row_stride};
}

/* Element (row, col), 0 beyond the border: there it adds nothing. */
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

  explicit Product(const dm_product *p)
      : c(matrix_of<Sum>(p->c)), a(matrix_of<const Element>(p->a)),
        b(matrix_of<const Element>(p->b)), accumulate(p->accumulate) {
  }

  /* What the sum of element (row, col) begins with. */
  __device__ __forceinline__ Sum old(int64_t row, int64_t col) const {
    return accumulate && row < c.rows && col < c.cols ? c.at(row, col) : Sum();
  }
};

/* The whole of one element of C: its row of A times its column of B. */
template <class T>
static __device__ __forceinline__ void multiply_element(const Product<T> &p, int64_t row,
                                                        int64_t col) {
  T sum = p.old(row, col);
  for (int64_t k = 0; k < p.a.cols; k++) sum = mad(p.a.at(row, k), p.b.at(k, col), sum);
  p.c.at(row, col) = sum;
}

/* FUNCTION called with the product as one of f32 or f64. */
template <class Function>
static cudaError_t with_real(const dm_product *product, Function function) {
  switch (product->a.dtype) {
  case DM_F32:
    return function(Product<float>(product));
  case DM_F64:
    return function(Product<double>(product));
  default:
    return cudaErrorInvalidValue;
  }
}

static inline int64_t divide_up(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/* Blocks for tiles of ROWS x COLS, one each: a one-dimensional grid, because the other dimensions
 * end at 65535.  0 where they are too many, which a launch refuses: C of more than 2 TB. */
static inline unsigned blocks_for_tiles(dm_view c, int rows, int cols) {
  const int64_t blocks = divide_up(c.rows, rows) * divide_up(c.cols, cols);
  return blocks > INT32_MAX ? 0 : (unsigned)blocks;
}

/* Blocks for COUNT pieces of work, where a block goes on to others if those are too many. */
static inline unsigned blocks_for(int64_t count, int64_t most = INT32_MAX) {
  return (unsigned)(count < most ? count : most);
}

#endif
