/* walk: a grid's way over matrices of one shape whose rows may be strided: the runs of LENGTH
 * elements are counted row after row.  A block takes COUNT of them for each of its threads, which
 * lie side by side, and goes on behind those of the other blocks.  Only the beginning costs
 * divisions. */
#ifndef DM_KERNELS_WALK_CUH
#define DM_KERNELS_WALK_CUH

#include "kernels/matrix.cuh"
#include "kernels/run.cuh"

template <int LENGTH, int COUNT> class Walk {
  struct Step {
    int64_t rows, runs;
  };
  int64_t rows, width, run;
  Step near, far;

  __device__ __forceinline__ Step step_of(int64_t runs) const {
    return {runs / width, runs % width};
  }

public:
  int64_t row, col;

  __device__ __forceinline__ Walk(int64_t rows_, int64_t cols)
      : rows(rows_), width((cols + LENGTH - 1) / LENGTH) {
    const int64_t first = (int64_t)blockIdx.x * COUNT * blockDim.x + threadIdx.x;
    near = step_of(blockDim.x);
    far = step_of(((int64_t)(gridDim.x - 1) * COUNT + 1) * blockDim.x);
    row = first / width, run = first % width;
    col = run * LENGTH;
  }
  __device__ __forceinline__ bool inside() const {
    return row < rows;
  }
  /* From the N-th of COUNT runs to the next. */
  __device__ __forceinline__ void advance(int n) {
    const Step step = n + 1 < COUNT ? near : far;
    row += step.rows, run += step.runs;
    if (run >= width) run -= width, row++;
    col = run * LENGTH;
  }
};

/* The run at (row, col), which begins inside; what lies beyond the end of the row is 0. */
template <class T, bool WIDE>
static __device__ __forceinline__ Run<T, WIDE> run_at(const Matrix<const T> &m, int64_t row,
                                                      int64_t col) {
  const T *p = &m.at(row, col);
  if (col + Run<T, WIDE>::LENGTH <= m.cols) return load_run<T, WIDE>(p);
  return load_run<T, WIDE>(p, m.cols - col);
}

/* Whether no row is followed by a gap. */
static inline bool rows_join(dm_view m) {
  return m.rows == 1 || m.row_stride == m.cols;
}

/* M, whose rows join, as one long row: no run is cut short but the last. */
static inline dm_view joined(dm_view m) {
  m.cols = m.row_stride = m.rows * m.cols;
  m.rows = 1;
  return m;
}

/* FUNCTION called with a value of the type of sums that DTYPE names. */
template <class Function> static cudaError_t with_sum(dm_dtype dtype, Function function) {
  switch (dtype) {
  case DM_F64:
    return function(double());
  case DM_F32:
    return function(float());
  case DM_I32:
    return function(int32_t());
  default:
    return cudaErrorInvalidValue;
  }
}

#endif
