/* raise: limits of rows or columns, from one pass over a matrix, that leave of each line its best
 * elements and few more.
 *
 * The idea: the elements of a line are divided into groups, and the best score of each is found. As
 * many of these as wanted are of different elements, so the worst of the best WANTED ones is a
 * score that as many elements have at least. Which it is follows from bits: scores are compared as
 * unsigned integers, and each bit of the answer takes one count. */
#include "kernels/helpers/score.cuh"
#include "kernels/sieve_kernels.h"

namespace {

constexpr int GROUPS = DM_RAISE_GROUPS, LANES = 32;
constexpr unsigned EVERY = 0xffffffffu;
constexpr uint32_t NOTHING =
    0x007fffffu; /* the key of -infinity; that of a group without scores: 0 */

/* Keys are ordered as scores in f32, rounded down; NaN is the least. */
__device__ __forceinline__ uint32_t key_of(float score) {
  const uint32_t bits = __float_as_uint(score + 0.0f); /* no negative zero */
  return score != score ? 0u : (int32_t)bits < 0 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ uint32_t key_of(double score) {
  return key_of(__double2float_rd(score));
}

/* A number below the score of KEY: elements of that score pass. */
__device__ __forceinline__ float below(uint32_t key) {
  if (key == 0x80000000u) return __uint_as_float(0x80800000u); /* of 0: the next normal number */
  const uint32_t less = key - 1;
  return __uint_as_float((int32_t)less < 0 ? less & 0x7fffffffu : ~less);
}

template <class T>
__device__ __forceinline__ uint32_t key_at(const dm_raise_work &work, int64_t row, int64_t col) {
  typedef typename ScoreOf<T>::Type Score;
  if (work.left_out.self && col == row + work.left_out.ahead) return 0;
  const T *at = static_cast<const T *>(work.matrix.base) + row * work.matrix.row_stride + col;
  return key_of(score_of(work.score, widen<Score>(*at)));
}

__device__ __forceinline__ void raise_to(float *limit, uint32_t key) {
  if (key <= NOTHING) return;
  const float old = *limit, now = below(key);
  if (!(old >= now)) *limit = now; /* an old one may be NaN */
}

/* The COUNTth best of a warp's KEYS, or 0: the largest number that so many are not below. */
template <int EACH> __device__ uint32_t choose(const uint32_t (&keys)[EACH], int count) {
  uint32_t found = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const uint32_t wanted = found | 1u << bit;
    int own = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) own += keys[i] >= wanted;
    for (int lanes = LANES / 2; lanes > 0; lanes /= 2) own += __shfl_xor_sync(EVERY, own, lanes);
    if (own >= count) found = wanted;
  }
  return found;
}

/* ---- rows: a block for each ---- */

constexpr int ROW_THREADS = 256, ROW_EACH = GROUPS / ROW_THREADS;

template <class T>
__global__ void __launch_bounds__(ROW_THREADS) raise_rows(const dm_raise_work work) {
  __shared__ uint32_t best[GROUPS];
  constexpr int UNROLL = 8;
  const int64_t cols = work.matrix.cols;
  for (int64_t row = blockIdx.x; row < work.matrix.rows; row += gridDim.x) {
    uint32_t own[ROW_EACH] = {};
    int64_t col = threadIdx.x;
    for (; col + (UNROLL - 1) * ROW_THREADS < cols; col += UNROLL * ROW_THREADS) {
      uint32_t keys[UNROLL];
#pragma unroll
      for (int i = 0; i < UNROLL; i++) keys[i] = key_at<T>(work, row, col + i * ROW_THREADS);
#pragma unroll
      for (int i = 0; i < UNROLL; i++) own[i % ROW_EACH] = max(own[i % ROW_EACH], keys[i]);
    }
    for (int i = 0; i < UNROLL; i++, col += ROW_THREADS)
      if (col < cols) {
        const uint32_t key = key_at<T>(work, row, col);
        if (i % ROW_EACH == 0)
          own[0] = max(own[0], key);
        else
          own[ROW_EACH - 1] = max(own[ROW_EACH - 1], key);
      }
#pragma unroll
    for (int g = 0; g < ROW_EACH; g++) best[g * ROW_THREADS + threadIdx.x] = own[g];
    __syncthreads();
    if (threadIdx.x < LANES) {
      uint32_t keys[GROUPS / LANES];
#pragma unroll
      for (int g = 0; g < GROUPS / LANES; g++) keys[g] = best[g * LANES + threadIdx.x];
      const uint32_t key = choose(keys, (int)work.best);
      if (threadIdx.x == 0) raise_to(&work.limits[row], key);
    }
    __syncthreads();
  }
}

/* ---- columns: a block for some neighbours, whose warp reads two rows of them ---- */

constexpr int COLS = 16, DOWN = 32, COL_THREADS = COLS * DOWN;

template <class T>
__global__ void __launch_bounds__(COL_THREADS) raise_columns(const dm_raise_work work) {
  __shared__ uint32_t best[GROUPS][COLS + 1];
  constexpr int UNROLL = 8;
  const int64_t rows = work.matrix.rows, cols = work.matrix.cols;
  const int x = threadIdx.x % COLS, y = threadIdx.x / COLS, warp = threadIdx.x / LANES;
  const int lane = threadIdx.x % LANES;
  for (int64_t first = (int64_t)blockIdx.x * COLS; first < cols;
       first += (int64_t)gridDim.x * COLS) {
    const int64_t col = first + x;
    for (int g = y; g < GROUPS; g += DOWN) best[g][x] = 0;
    int group = y; /* a thread has these alone: Y, Y + DOWN, ... */
    for (int64_t row = y; row < rows && col < cols; row += UNROLL * DOWN) {
      uint32_t keys[UNROLL];
#pragma unroll
      for (int i = 0; i < UNROLL; i++)
        keys[i] = row + i * DOWN < rows ? key_at<T>(work, row + i * DOWN, col) : 0;
#pragma unroll
      for (int i = 0; i < UNROLL; i++) {
        best[group][x] = max(best[group][x], keys[i]);
        group = group + DOWN < GROUPS ? group + DOWN : y;
      }
    }
    __syncthreads();
    uint32_t keys[GROUPS / LANES];
#pragma unroll
    for (int g = 0; g < GROUPS / LANES; g++) keys[g] = best[g * LANES + lane][warp];
    const uint32_t key = choose(keys, (int)work.best);
    if (lane == 0 && first + warp < cols) raise_to(&work.limits[first + warp], key);
    __syncthreads();
  }
}
static_assert(COL_THREADS / LANES == COLS, "a warp for each column");

} // namespace

cudaError_t dm_kernels_raise(const dm_raise_work *work) {
  if (work->best > GROUPS) return cudaErrorInvalidValue;
  return with_one_of<double, float, __half, __nv_bfloat16>(work->matrix.dtype, [&](auto element) {
    typedef decltype(element) T;
    if (work->by_row)
      raise_rows<T><<<blocks_for(work->matrix.rows), ROW_THREADS, 0, work->stream>>>(*work);
    else
      raise_columns<T>
          <<<blocks_for(divide_up(work->matrix.cols, COLS)), COL_THREADS, 0, work->stream>>>(*work);
    return cudaGetLastError();
  });
}
