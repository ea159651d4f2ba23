/* matrix: views of the host as the matrices of kernels. */
#ifndef DM_KERNELS_MATRIX_CUH
#define DM_KERNELS_MATRIX_CUH

#include "kernels/gemm.h"
#include "kernels/helpers/number.cuh"
#include "kernels/kernels.h"

template <class T> Matrix<T> matrix_of(dm_view view) {
  return {static_cast<T *>(view.base), view.rows, view.cols, view.row_stride};
}

/* Whether the rows of M can be moved in vectors of 16 bytes. */
template <class T> bool is_wide(const Matrix<T> &m) {
  return (uintptr_t)m.base % 16 == 0 && m.stride * sizeof(T) % 16 == 0;
}

#endif
