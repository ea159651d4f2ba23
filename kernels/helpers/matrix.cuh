/* matrix: converts the host's dm_product to the kernels' types, and computes grid sizes. */
#ifndef DM_KERNELS_MATRIX_CUH
#define DM_KERNELS_MATRIX_CUH

#include "kernels/helpers/number.cuh"
#include "kernels/helpers/operand.cuh"
#include "kernels/kernels.h"

template <class T> Matrix<T> matrix_of(dm_view view) {
  return {static_cast<T *>(view.base), view.rows, view.cols, view.row_stride};
}

template <class Element> Product<Element> product_of(const dm_product *p) {
  return {matrix_of<typename Types<Element>::Sum>(p->c), matrix_of<const Element>(p->a),
          matrix_of<const Element>(p->b), p->accumulate};
}

template <class T> bool is_wide(const Matrix<T> &m) {
  return (uintptr_t)m.base % 16 == 0 && m.stride * sizeof(T) % 16 == 0;
}

template <class T> Wide wide_of(const Product<T> &p) {
  return {is_wide(p.a), is_wide(p.b), is_wide(p.c)};
}

/* Calls FUNCTION with the product of f32 or f64. */
template <class Function>
static cudaError_t with_real(const dm_product *product, Function function) {
  return with_one_of<float, double>(product->a.dtype, [&](auto element) {
    return function(product_of<decltype(element)>(product));
  });
}

static inline int64_t divide_up(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

/* One block per tile of ROWS x COLS, in a one-dimensional grid, because the other dimensions are
 * limited to 65535.  Too many blocks (C of more than 2 TB): 0, so that the launch fails. */
static inline unsigned blocks_for_tiles(dm_view c, int rows, int cols) {
  const int64_t blocks = divide_up(c.rows, rows) * divide_up(c.cols, cols);
  return blocks > INT32_MAX ? 0 : (unsigned)blocks;
}

/* Blocks for COUNT pieces of work; with more than MOST pieces, each block processes several. */
static inline unsigned blocks_for(int64_t count, int64_t most = INT32_MAX) {
  return (unsigned)(count < most ? count : most);
}

#endif
