/* walk: a grid-stride loop over matrices of one shape with strided rows.  The runs (of 16 bytes or
 * single elements) are numbered row after row.  In each step a block processes a contiguous range
 * of COUNT runs per thread (a thread's runs are a block's width apart), then skips those of the
 * other blocks.  Only the start needs divisions. */
#ifndef DM_KERNELS_WALK_CUH
#define DM_KERNELS_WALK_CUH

#include "kernels/helpers/matrix.cuh"
#include "kernels/helpers/run.cuh"

/* The next COUNT runs of a thread. */
template <class T, bool WIDE, int COUNT> struct Batch {
  typedef Run<T, WIDE> R;
  int64_t row[COUNT], col[COUNT];
  int count; /* runs inside the matrix */
  bool full; /* all runs are inside and complete */

  /* Loads the runs from M; 0 beyond its borders.  Full batches load unconditionally, because the
   * compiler puts other instructions between conditional loads. */
  __device__ __forceinline__ void load(const Matrix<const T> &m, R (&runs)[COUNT]) const {
    if (full) {
#pragma unroll
      for (int u = 0; u < COUNT; u++) runs[u] = load_run<T, WIDE>(&m.at(row[u], col[u]));
      return;
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      runs[u] = u < count ? load_run<T, WIDE>(&m.at(row[u], col[u]), m.cols - col[u]) : R();
  }
};

template <class T, bool WIDE, int COUNT> class Walk {
  static constexpr int LENGTH = Run<T, WIDE>::LENGTH;
  struct Step {
    int64_t rows, runs;
  };
  int64_t rows, cols, width, row, run;
  Step near, far;

  __device__ __forceinline__ Step step_of(int64_t runs) const {
    return {runs / width, runs % width};
  }

public:
  template <class Number>
  explicit __device__ __forceinline__ Walk(const Matrix<Number> &m)
      : rows(m.rows), cols(m.cols), width((m.cols + LENGTH - 1) / LENGTH) {
    const int64_t first = (int64_t)blockIdx.x * COUNT * blockDim.x + threadIdx.x;
    near = step_of(blockDim.x);
    far = step_of(((int64_t)(gridDim.x - 1) * COUNT + 1) * blockDim.x);
    row = first / width, run = first % width;
  }
  __device__ __forceinline__ bool inside() const {
    return row < rows;
  }
  __device__ __forceinline__ Batch<T, WIDE, COUNT> next() {
    Batch<T, WIDE, COUNT> batch;
    batch.count = 0;
    batch.full = true;
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
      batch.row[u] = row, batch.col[u] = run * LENGTH;
      batch.count += inside();
      batch.full &= inside() && (run + 1) * LENGTH <= cols;
      const Step step = u + 1 < COUNT ? near : far;
      row += step.rows, run += step.runs;
      if (run >= width) run -= width, row++;
    }
    return batch;
  }
};

/* The run at (row, col), which begins inside; elements beyond the end of the row are 0. */
template <class T, bool WIDE>
static __device__ __forceinline__ Run<T, WIDE> run_at(const Matrix<const T> &m, int64_t row,
                                                      int64_t col) {
  const T *p = &m.at(row, col);
  if (col + Run<T, WIDE>::LENGTH <= m.cols) return load_run<T, WIDE>(p);
  return load_run<T, WIDE>(p, m.cols - col);
}

/* Whether rows are contiguous, without gaps. */
static inline bool rows_join(dm_view m) {
  return m.rows == 1 || m.row_stride == m.cols;
}

/* M, whose rows join, as one long row: only the last run may be incomplete. */
static inline dm_view joined(dm_view m) {
  m.cols = m.row_stride = m.rows * m.cols;
  m.rows = 1;
  return m;
}

#endif
