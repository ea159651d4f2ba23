/* moments: means and squares of the columns of a matrix in one pass.
 *
 * The idea: each thread keeps the moments of a few columns. It adds some elements at once, as sums
 * of their differences from the mean so far, which costs no digits unless this mean is that of far
 * fewer elements: then the differences from a better mean are summed again. All is relative to an
 * element of the column, so that equal elements have exactly their mean. The moments of threads and
 * of parts are joined in a fixed order (Chan, Golub, LeVeque 1979).
 *
 * If rows are contiguous, the lanes of a warp read neighbouring columns; if columns are, the lanes
 * of a warp share one. */
#include "kernels/helpers/few.cuh"
#include "kernels/helpers/run.cuh"
#include "kernels/line_kernels.h"

namespace {

constexpr int LANES = 32, WARPS = 8, WARPS_PER_PROCESSOR = 32;
constexpr int BLOCKS = 2; /* of a multiprocessor, which limit the registers */
constexpr int DEPTH = 4;  /* rows that a thread adds at once */

template <class Number> struct Moments {
  Number from, mean; /* mean: less FROM */
  double squares, weight, present;
};

template <class Number>
__device__ __forceinline__ void join(Moments<Number> &m, const Moments<Number> &more) {
  if (more.present == 0.0) return;
  if (m.present == 0.0) {
    m = more;
    return;
  }
  m.present += more.present;
  if (more.weight == 0.0) return;
  const Number delta = minus(plus(more.mean, 1.0, minus(more.from, m.from)), m.mean);
  const double all = m.weight + more.weight, part = more.weight / all;
  m.squares += mad_square(delta, 0.0) * (m.weight * part) + more.squares;
  m.mean = plus(m.mean, part, delta);
  m.weight = all;
}

/* Weighted sums of differences, and of their squares. */
template <class Number> struct Sums {
  Number first;
  double second;
};

template <class Number, int COUNT>
__device__ __forceinline__ Sums<Number>
sum(const Number (&x)[COUNT], const double (&weights)[COUNT], Number from, Number mean) {
  Sums<Number> of = {};
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const Number d = is_nan(x[i]) ? Number() : minus(minus(x[i], from), mean);
    of.first = plus(of.first, weights[i], d);
    of.second = fma(weights[i], mad_square(d, 0.0), of.second);
  }
  return of;
}

/* Adds the elements that are not NaN; returns their number. */
template <class Number, int COUNT>
__device__ __forceinline__ int add(Moments<Number> &m, const Number (&x)[COUNT],
                                   const double (&weights)[COUNT]) {
  double own[COUNT], weight = 0.0;
  int present = 0;
  bool known = m.present > 0.0;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const bool is = !is_nan(x[i]);
    own[i] = is ? weights[i] : 0.0;
    weight += own[i];
    present += is;
    if (is && !known) m.from = x[i];
    known |= is;
  }
  m.present += present;
  if (!(weight > 0.0)) return present;
  Sums<Number> of = sum(x, own, m.from, m.mean);
  if (weight > m.weight) {
    const Number old = m.mean;
    m.mean = plus(old, 1.0 / weight, of.first);
    const Number delta = minus(m.mean, old);
    m.squares = fma(m.weight, mad_square(delta, 0.0), m.squares);
    of = sum(x, own, m.from, m.mean);
    of.first = plus(of.first, -m.weight, delta);
  }
  m.weight += weight;
  const double part = 1.0 / m.weight;
  const double squares = m.squares + of.second - mad_square(of.first, 0.0) * part;
  m.squares = squares < 0.0 ? 0.0 : squares; /* by rounding; NaN stays */
  m.mean = plus(m.mean, part, of.first);
  return present;
}

/* The same of COUNT elements after SEEN others, all of weight 1, with less work; or, if an element
 * of the column is missing, nothing: false. Differences are those from the rounded sum of FROM and
 * the mean; both sums are corrected for this rounding. */
template <class Number, int COUNT>
__device__ __forceinline__ bool add_plain(Moments<Number> &m, const Number (&x)[COUNT],
                                          double seen) {
  if (m.weight != seen) return false;
  const Number shift = plus(m.from, 1.0, m.mean);
  const Number rounded = minus(minus(shift, m.from), m.mean);
  Sums<Number> of = {};
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const Number d = minus(x[i], shift);
    of.first = plus(of.first, 1.0, d);
    of.second = mad_square(d, of.second);
  }
  if (is_nan(of.first)) return false;
  const double all = seen + COUNT, part = 1.0 / all;
  const Number first = plus(of.first, COUNT, rounded);
  const double square = mad_square(first, 0.0);
  const double second = of.second + (square - mad_square(of.first, 0.0)) / COUNT;
  const double squares = m.squares + second - square * part;
  m.squares = squares < 0.0 ? 0.0 : squares;
  m.mean = plus(m.mean, part, first);
  m.weight = m.present = all;
  return true;
}

/* Whether elements have weight 1 and only NaN is missing. */
__device__ __forceinline__ bool is_plain(const dm_moments_work &work) {
  return !work.weights && work.gaps.count == 0 && !work.gaps.zero;
}

__device__ __forceinline__ void note(int64_t *first, int64_t place) {
  if (place < *(volatile int64_t *)first)
    atomicMin(reinterpret_cast<unsigned long long *>(first), (unsigned long long)place);
}

template <class Number> __device__ __forceinline__ Moments<Number> join_lanes(Moments<Number> m) {
  constexpr int NUMBERS = sizeof m / sizeof(double);
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    Moments<Number> more;
    double numbers[NUMBERS];
    memcpy(numbers, &m, sizeof m);
#pragma unroll
    for (int i = 0; i < NUMBERS; i++) numbers[i] = __shfl_down_sync(~0u, numbers[i], distance);
    memcpy(&more, numbers, sizeof more);
    join(m, more);
  }
  return m;
}

/* The least place of a missing one among the elements that are there. */
template <class Number, int COUNT>
__device__ __forceinline__ int first_missing(const Number (&x)[COUNT], const bool (&is)[COUNT]) {
  int first = COUNT;
#pragma unroll
  for (int i = COUNT - 1; i >= 0; i--)
    if (is[i] && is_nan(x[i])) first = i;
  return first;
}

struct Parts {
  int64_t count, rows; /* of a part */
};

/* Rows are contiguous, or nothing is. */
template <class Number, int COUNT>
__global__ void __launch_bounds__(LANES *WARPS, BLOCKS)
    across(dm_moments_work work, Parts parts, int64_t warps) {
  const dm_view &m = work.matrix;
  const int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.y, group = warps / parts.count;
  const int64_t part = warp / group, col = (warp % group * LANES + threadIdx.x) * COUNT;
  const int64_t begin = part * parts.rows, last = begin + parts.rows;
  const int64_t end = last < m.rows ? last : m.rows;
  Moments<Number> of[COUNT] = {};
  if (warp >= warps || col >= m.cols) return;
  const int width = m.cols - col < COUNT ? (int)(m.cols - col) : COUNT;
  for (int64_t row = begin; row < end; row += DEPTH) {
    Number x[DEPTH][COUNT];
    int count[DEPTH];
    const bool plain = is_plain(work) && row > begin && row + DEPTH <= end;
#pragma unroll
    for (int u = 0; u < DEPTH; u++) count[u] = row + u < end ? width : 0;
    load_few(x, m.dtype, m.base, row * m.row_stride + col * m.col_stride, m.row_stride, count);
#pragma unroll
    for (int v = 0; v < COUNT; v++) {
      Number column[DEPTH];
      double weights[DEPTH];
      bool is[DEPTH];
      int there = 0;
#pragma unroll
      for (int u = 0; u < DEPTH; u++) column[u] = x[u][v];
      if (plain && v < width && add_plain(of[v], column, (double)(row - begin))) continue;
#pragma unroll
      for (int u = 0; u < DEPTH; u++) {
        is[u] = v < count[u];
        there += is[u];
        column[u] = is[u] ? without_gaps(work.gaps, column[u]) : missing<Number>();
        weights[u] = row + u >= end ? 0.0 : work.weights ? work.weights[row + u] : 1.0;
      }
      if (add(of[v], column, weights) == there) continue;
      note(work.first,
           (row + first_missing(column, is)) * work.row_place + (col + v) * work.col_place);
    }
  }
  Moments<Number> *to = static_cast<Moments<Number> *>(work.scratch);
#pragma unroll
  for (int v = 0; v < COUNT; v++)
    if (v < width) to[(col + v) * parts.count + part] = of[v];
}

/* Columns are contiguous. */
template <class Number, int COUNT>
__global__ void __launch_bounds__(LANES *WARPS, BLOCKS)
    along(dm_moments_work work, Parts parts, int64_t warps) {
  constexpr int RUNS = 16 / parts_of<Number> / COUNT, STEP = LANES * COUNT;
  const dm_view &m = work.matrix;
  const int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.y;
  const int64_t col = warp / parts.count, part = warp % parts.count;
  const int64_t begin = part * parts.rows, last = begin + parts.rows;
  const int64_t end = last < m.rows ? last : m.rows;
  Moments<Number> of = {};
  if (warp >= warps) return;
  for (int64_t row = begin + threadIdx.x * COUNT; row < end; row += STEP * RUNS) {
    Number x[RUNS][COUNT], some[RUNS * COUNT];
    double weights[RUNS * COUNT];
    bool is[RUNS * COUNT];
    int count[RUNS], there = 0;
#pragma unroll
    for (int u = 0; u < RUNS; u++) {
      const int64_t left = end - row - u * STEP;
      count[u] = left >= COUNT ? COUNT : left > 0 ? (int)left : 0;
      there += count[u];
    }
    load_few(x, m.dtype, m.base, row + col * m.col_stride, STEP, count);
#pragma unroll
    for (int i = 0; i < RUNS * COUNT; i++) some[i] = x[i / COUNT][i % COUNT];
    const int64_t seen = (row - begin) / STEP * COUNT;
    const bool plain = is_plain(work) && seen > 0 && there == RUNS * COUNT;
    if (plain && add_plain(of, some, (double)seen)) continue;
#pragma unroll
    for (int i = 0; i < RUNS * COUNT; i++) {
      is[i] = i % COUNT < count[i / COUNT];
      some[i] = is[i] ? without_gaps(work.gaps, some[i]) : missing<Number>();
      weights[i] = !is[i]         ? 0.0
                   : work.weights ? work.weights[row + i / COUNT * STEP + i % COUNT]
                                  : 1.0;
    }
    if (add(of, some, weights) == there) continue;
    const int first = first_missing(some, is);
    note(work.first,
         (row + first / COUNT * STEP + first % COUNT) * work.row_place + col * work.col_place);
  }
  of = join_lanes(of);
  if (threadIdx.x == 0) static_cast<Moments<Number> *>(work.scratch)[col * parts.count + part] = of;
}

/* A warp joins the parts of a column. */
template <class Number>
__global__ void __launch_bounds__(LANES *WARPS) join_parts(dm_moments_work work, int64_t parts) {
  const int64_t col = (int64_t)blockIdx.x * WARPS + threadIdx.y, cols = work.matrix.cols;
  if (col >= cols) return;
  const Moments<Number> *from = static_cast<const Moments<Number> *>(work.scratch) + col * parts;
  Moments<Number> of = {};
  for (int64_t p = threadIdx.x; p < parts; p += LANES) join(of, from[p]);
  of = join_lanes(of);
  if (threadIdx.x != 0) return;
  constexpr int PARTS = parts_of<Number>;
  const int64_t width = cols * PARTS;
  double numbers[sizeof of / sizeof(double)];
  memcpy(numbers, &of, sizeof of);
  for (int p = 0; p < PARTS; p++) {
    double *to = work.numbers + col * PARTS + p;
    to[DM_FROM * width] = numbers[p];
    to[DM_MEAN * width] = numbers[PARTS + p];
    to[DM_SQUARES * width] = p == 0 ? of.squares : 0.0;
    to[DM_WEIGHT * width] = of.weight;
    to[DM_PRESENT * width] = of.present;
  }
}

/* Rows of a part are multiples of this. */
int64_t step_of(dm_view m) {
  return has_columns(m) ? 512 : 64;
}

unsigned blocks_of(int64_t warps) {
  return (unsigned)((warps + WARPS - 1) / WARPS);
}

template <class Number, int COUNT> cudaError_t launch(const dm_moments_work *work) {
  const dm_view &m = work->matrix;
  const bool columns = has_columns(m);
  const int64_t step = step_of(m), steps = (m.rows + step - 1) / step;
  const Parts parts = {work->parts, (steps + work->parts - 1) / work->parts * step};
  const int64_t groups = columns ? m.cols : (m.cols + LANES * COUNT - 1) / (LANES * COUNT);
  const int64_t warps = groups * parts.count;
  if (warps > INT32_MAX) return cudaErrorInvalidConfiguration;
  (columns ? along<Number, COUNT>
           : across<Number, COUNT>)<<<blocks_of(warps), dim3(LANES, WARPS), 0, work->stream>>>(
      *work, parts, warps);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  join_parts<Number>
      <<<blocks_of(m.cols), dim3(LANES, WARPS), 0, work->stream>>>(*work, parts.count);
  return cudaGetLastError();
}

template <class Number> cudaError_t launch_any(const dm_moments_work *work) {
  const dm_view lines = has_columns(work->matrix) ? turned(work->matrix) : work->matrix;
  return has_few(lines, FEW<Number>) ? launch<Number, FEW<Number>>(work) : launch<Number, 1>(work);
}

} // namespace

int64_t dm_kernels_moments_parts(dm_view matrix, int processors) {
  const int64_t cols = has_columns(matrix) ? matrix.cols : (matrix.cols + 127) / 128;
  const int64_t wanted = (int64_t)processors * WARPS_PER_PROCESSOR / cols;
  const int64_t step = step_of(matrix), most = (matrix.rows + step - 1) / step;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

int64_t dm_kernels_moments_scratch(dm_view matrix, int64_t parts) {
  const bool is_complex = matrix.dtype == DM_C64 || matrix.dtype == DM_C128;
  return parts * matrix.cols *
         (int64_t)(is_complex ? sizeof(Moments<Complex128>) : sizeof(Moments<double>));
}

cudaError_t dm_kernels_moments(const dm_moments_work *work) {
  const dm_dtype dtype = work->matrix.dtype;
  return dtype == DM_C64 || dtype == DM_C128 ? launch_any<Complex128>(work)
                                             : launch_any<double>(work);
}
