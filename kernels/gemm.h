/* gemm: what a rung of the ladder is asked to compute, in C for the host and in C++ for the device.
 * Includes nothing of CUDA or of damier. */
#ifndef DM_KERNELS_GEMM_H
#define DM_KERNELS_GEMM_H

#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

/* A matrix in device memory; strides count elements. */
typedef struct dm_gemm_matrix {
  void *base;
  int64_t rows, cols, row_stride, col_stride;
} dm_gemm_matrix;

/* C (+)= A B; all have col_stride 1 (wgmma also accepts B with row_stride 1). */
typedef struct dm_gemm {
  dm_gemm_matrix c, a, b;
  int dtype, size;            /* a dm_dtype, and the bytes of an element, of A and B */
  bool tf32;                  /* f32 may be rounded to TF32 first */
  bool accumulate;            /* false: C is overwritten without being read */
  int processors;             /* multiprocessors of the device */
  void *scratch;              /* device memory, aligned to 256 bytes, until the kernel ends */
  void *nvrtc;                /* of jit: the library, which dlopen returned, */
  struct dm_jit **compiled;   /* and the kernels that the caller keeps, at first NULL */
  struct CUstream_st *stream; /* a cudaStream_t */
} dm_gemm;

#ifdef __CUDACC__

/* The type in which products of Element are summed: that of C. */
struct __half;
struct __nv_bfloat16;
template <class Element> struct Types { typedef Element Sum; };
template <> struct Types<int8_t> { typedef int32_t Sum; };
template <> struct Types<__half> { typedef float Sum; };
template <> struct Types<__nv_bfloat16> { typedef float Sum; };

/* An exact conversion. */
template <class To, class From> static __device__ __forceinline__ To widen(From v) {
  return v;
}

/* a * b + c, rounded once; integers wrap. */
static __device__ __forceinline__ double mad(double a, double b, double c) {
  return fma(a, b, c);
}
static __device__ __forceinline__ float mad(float a, float b, float c) {
  return fmaf(a, b, c);
}
static __device__ __forceinline__ int32_t mad(int32_t a, int32_t b, int32_t c) {
  return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}

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

template <class Element, class Sum = typename Types<Element>::Sum> struct Product {
  typedef Element Number;
  Matrix<Sum> c;
  Matrix<const Element> a, b;
  bool accumulate;

  /* The initial sum of element (row, col): the old C, or 0. */
  __device__ __forceinline__ Sum old(int64_t row, int64_t col) const {
    return accumulate && row < c.rows && col < c.cols ? c.at(row, col) : Sum();
  }
};

/* The position in C of element (0, 0) of this block's tile. */
struct Corner {
  int64_t row, col;
};
template <class T>
static __device__ __forceinline__ Corner block_corner(const Matrix<T> &c, int rows, int cols) {
  const int64_t across = (c.cols + cols - 1) / cols;
  return {blockIdx.x / across * rows, blockIdx.x % across * cols};
}

/* ---- on the host ---- */

template <class T> Matrix<T> matrix_of(const dm_gemm_matrix &m) {
  return {static_cast<T *>(m.base), m.rows, m.cols, m.row_stride};
}
template <class Element> Product<Element> product_of(const dm_gemm *p) {
  return {matrix_of<typename Types<Element>::Sum>(p->c), matrix_of<const Element>(p->a),
          matrix_of<const Element>(p->b), p->accumulate};
}

template <class M> static bool rows_are_aligned(const M &m, int64_t size) { /* to 16 bytes */
  return (uintptr_t)m.base % 16 == 0 && (m.rows == 1 || m.row_stride * size % 16 == 0);
}

/* Calls FUNCTION with the product of f32 or f64. */
template <class Function> static cudaError_t with_real(const dm_gemm *p, Function function) {
  if (p->size == 4) return function(product_of<float>(p));
  return p->size == 8 ? function(product_of<double>(p)) : cudaErrorInvalidValue;
}

static inline int64_t divide_up(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/* One block for each tile of ROWS x COLS, in one dimension, because the others end at 65535.  For
 * too many blocks (C of more than 2 TB) 0, so that the launch fails. */
template <class M> static unsigned blocks_for_tiles(const M &c, int rows, int cols) {
  const int64_t blocks = divide_up(c.rows, rows) * divide_up(c.cols, cols);
  return blocks > INT32_MAX ? 0 : (unsigned)blocks;
}

/* Blocks for COUNT pieces of work; with more than MOST, each block does several. */
static inline unsigned blocks_for(int64_t count, int64_t most = INT32_MAX) {
  return (unsigned)(count < most ? count : most);
}

#endif
#endif
