/* sift: finds the elements of a matrix that pass a sieve, in one pass at the speed of memory.
 *
 * The idea: hardly any element passes. A thread keeps the limits of a few columns, and compares the
 * runs of some rows with them and with the rows' limits; only threads that find something look
 * closer. What passes is collected in shared memory, so that a block asks once for its place in the
 * list. */
#include "kernels/helpers/run.cuh"
#include "kernels/helpers/score.cuh"
#include "kernels/sieve_kernels.h"

namespace {

constexpr int THREADS = 256;
constexpr int ROWS = 64;   /* of a block */
constexpr int AHEAD = 4;   /* rows that are loaded before they are compared */
constexpr int HELD = 1024; /* elements that a block collects; more go to the list one by one */

struct Collected {
  dm_candidate held[HELD];
  unsigned count, nans;
  unsigned long long at;
};

__device__ __forceinline__ void put(const dm_sift_work &work, unsigned long long at,
                                    dm_candidate one) {
  if (at < (unsigned long long)work.room) work.list[at] = one;
}

/* An element that is not at most its limits. */
__device__ void collect(const dm_sift_work &work, Collected &to, int64_t row, int64_t col,
                        double value) {
  if (work.sieve.left_out.self && col == row + work.sieve.left_out.ahead) return;
  if (value != value) {
    atomicAdd(&to.nans, 1u);
    return;
  }
  const dm_candidate one = {(uint32_t)row, (uint32_t)col, value};
  const unsigned at = atomicAdd(&to.count, 1u);
  if (at < HELD)
    to.held[at] = one;
  else
    put(work, atomicAdd(work.count, 1ull), one);
}

/* What the block has collected goes to the list. */
__device__ void deliver(const dm_sift_work &work, Collected &from) {
  __syncthreads();
  const unsigned count = from.count < HELD ? from.count : HELD;
  if (threadIdx.x == 0) {
    if (count > 0) from.at = atomicAdd(work.count, (unsigned long long)count);
    if (from.nans > 0) atomicAdd(work.nans, (unsigned long long)from.nans);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += THREADS) put(work, from.at + i, from.held[i]);
}

/* A thread's columns, and their limits. */
template <class T, bool WIDE> class Columns {
  typedef typename ScoreOf<T>::Type Score;
  typedef Run<T, WIDE> Several;
  static constexpr int LENGTH = Several::LENGTH;
  const dm_sift_work &work;
  Collected &collected;
  const int64_t col, left;
  float limit[LENGTH];

public:
  __device__ __forceinline__ Columns(const dm_sift_work &of, Collected &to, int64_t first)
      : work(of), collected(to), col(first), left(of.matrix.cols - first) {
#pragma unroll
    for (int v = 0; v < LENGTH; v++)
      limit[v] = work.sieve.cols && v < left ? work.sieve.cols[col + v] : INFINITY;
  }

  __device__ __forceinline__ Several load(int64_t row) const {
    const T *from = static_cast<const T *>(work.matrix.base) + row * work.matrix.row_stride + col;
    return left >= LENGTH ? load_run<T, WIDE>(from) : load_run<T, WIDE>(from, left);
  }

  __device__ __forceinline__ void compare(int64_t row, const Several &run) const {
    const dm_sieve &sieve = work.sieve;
    const float of_row = sieve.rows ? sieve.rows[row] : sieve.cols ? INFINITY : sieve.limit;
    unsigned passes = 0;
#pragma unroll
    for (int v = 0; v < LENGTH; v++) {
      const Score score = score_of(sieve.score, widen<Score>(run.at[v]));
      if (!(score <= (Score)of_row) || !(score <= (Score)limit[v])) passes |= 1u << v;
    }
    if (passes == 0) return;
#pragma unroll
    for (int v = 0; v < LENGTH; v++)
      if ((passes >> v & 1u) && v < left)
        collect(work, collected, row, col + v, widen<double>(run.at[v]));
  }

  __device__ __forceinline__ void pass(int64_t first, int64_t end) const {
    Several run[AHEAD];
    int64_t row = first;
    if (left <= 0) return;
    for (; row + AHEAD <= end; row += AHEAD) {
#pragma unroll
      for (int i = 0; i < AHEAD; i++) run[i] = load(row + i);
#pragma unroll
      for (int i = 0; i < AHEAD; i++) compare(row + i, run[i]);
    }
    for (; row < end; row++) compare(row, load(row));
  }
};

template <class T, bool WIDE>
__global__ void __launch_bounds__(THREADS) sift(const dm_sift_work work) {
  __shared__ Collected collected;
  const int64_t rows = work.matrix.rows, step = (int64_t)gridDim.y * ROWS;
  if (threadIdx.x == 0) collected.count = collected.nans = 0;
  __syncthreads();
  const Columns<T, WIDE> columns(
      work, collected, ((int64_t)blockIdx.x * THREADS + threadIdx.x) * Run<T, WIDE>::LENGTH);
  for (int64_t row = (int64_t)blockIdx.y * ROWS; row < rows; row += step)
    columns.pass(row, row + ROWS < rows ? row + ROWS : rows);
  deliver(work, collected);
}

template <class T, bool WIDE> cudaError_t launch_sift(const dm_sift_work &work) {
  const int64_t columns = (int64_t)THREADS * Run<T, WIDE>::LENGTH;
  const dim3 grid(blocks_for(divide_up(work.matrix.cols, columns)),
                  blocks_for(divide_up(work.matrix.rows, ROWS), 65535));
  sift<T, WIDE><<<grid, THREADS, 0, work.stream>>>(work);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_sift(const dm_sift_work *work) {
  return with_one_of<double, float, __half, __nv_bfloat16>(work->matrix.dtype, [&](auto element) {
    typedef decltype(element) T;
    return rows_are_wide(work->matrix, sizeof(T)) ? launch_sift<T, true>(*work)
                                                  : launch_sift<T, false>(*work);
  });
}
