/* scan: sums[j] += sum_i |M(i,j)|^2, reading M once.
 *
 * A block has 8 lines of 32 lanes.  The lanes read neighbouring pieces of a row, of 16 bytes if the
 * rows allow it; the block processes 8 rows at once and adds the sums of its 8 lines at the end.
 * If the elements of a column are nearer to each other than those of a row, as in a sample of rows
 * of contiguous columns, each line reads a column. */
#include "kernels/helpers/fold.cuh"
#include "kernels/helpers/judge.cuh"
#include "kernels/helpers/number.cuh"
#include "kernels/helpers/run.cuh"
#include "kernels/verify_kernels.h"

namespace {

constexpr int LANES = 32, LINES = 8, BLOCKS_PER_PROCESSOR = 16;

/* sum[v] += |M(i, v)|^2 over rows i = begin, begin + LINES, ... below END of the run of columns at
 * P, of which COUNT exist. */
template <class Element, bool WIDE>
__device__ void add_rows(double *sum, const Element *p, int64_t stride, int64_t begin, int64_t end,
                         int64_t count) {
  typedef typename WideOf<Element>::Type Wide;
  constexpr int V = Run<Element, WIDE>::LENGTH;
  if (count >= V) {
#pragma unroll 4
    for (int64_t i = begin; i < end; i += LINES) {
      const auto run = load_run<Element, WIDE>(p + i * stride);
#pragma unroll
      for (int v = 0; v < V; v++) sum[v] = add_seen(widen<Wide>(run.at[v]), sum[v]);
    }
  } else {
#pragma unroll 1
    for (int64_t i = begin; i < end; i += LINES) {
      const auto run = load_run<Element, WIDE>(p + i * stride, count);
#pragma unroll
      for (int v = 0; v < V; v++) sum[v] = add_seen(widen<Wide>(run.at[v]), sum[v]);
    }
  }
}

/* The blocks of columns, side by side, of each part, one part after the other. */
struct Blocks {
  int64_t count, across, rows_per_part;
};

template <class Element, bool WIDE>
__device__ __forceinline__ void scan_block(const dm_view &m, const Blocks &of, int64_t block,
                                           double *of_parts) {
  constexpr int V = Run<Element, WIDE>::LENGTH;
  __shared__ double lines[LINES][V][LANES];

  const int lane = threadIdx.x, line = threadIdx.y;
  const int64_t part = block / of.across;
  const int64_t col = (block % of.across * LANES + lane) * V;
  const int64_t begin = part * of.rows_per_part;
  const int64_t end = begin + of.rows_per_part < m.rows ? begin + of.rows_per_part : m.rows;
  const Element *p = static_cast<const Element *>(m.base) + col * m.col_stride;

  double sum[V] = {};
  if (col < m.cols) add_rows<Element, WIDE>(sum, p, m.row_stride, begin + line, end, m.cols - col);
#pragma unroll
  for (int v = 0; v < V; v++) lines[line][v][lane] = sum[v];
  __syncthreads();
  for (int v = line; v < V; v += LINES) { /* each line of threads reduces some columns */
    double total = 0.0;
    for (int l = 0; l < LINES; l++) total += lines[l][v][lane];
    if (col + v < m.cols) of_parts[part * m.cols + col + v] = total;
  }
  __syncthreads(); /* before the next block */
}

template <class Element, bool WIDE>
__global__ void __launch_bounds__(LANES *LINES) scan(dm_view m, Blocks of, double *of_parts) {
  for (int64_t block = blockIdx.x; block < of.count; block += gridDim.x)
    scan_block<Element, WIDE>(m, of, block, of_parts);
}

/* Whether lines read columns. */
bool has_near_rows(dm_view m) {
  return m.col_stride != 1 && m.row_stride < m.col_stride;
}

/* Rows of a part begin at multiples of this, so that runs do. */
constexpr int64_t STEP = 512;

template <class Element, bool WIDE>
__device__ __forceinline__ void scan_block_of_columns(const dm_view &m, const Blocks &of,
                                                      int64_t block, double *of_parts) {
  typedef typename WideOf<Element>::Type Wide;
  constexpr int V = Run<Element, WIDE>::LENGTH;
  const int64_t part = block / of.across;
  const int64_t col = block % of.across * LINES + threadIdx.y;
  const int64_t last = (part + 1) * of.rows_per_part, end = last < m.rows ? last : m.rows;
  if (col >= m.cols) return;
  const Element *p = static_cast<const Element *>(m.base) + col * m.col_stride;
  double sum[V] = {};
  int64_t i = part * of.rows_per_part + threadIdx.x * V;
#pragma unroll 4
  for (; i + V <= end; i += LANES * V) {
    const auto run = load_run<Element, WIDE>(p + i * m.row_stride);
#pragma unroll
    for (int v = 0; v < V; v++) sum[v] = add_seen(widen<Wide>(run.at[v]), sum[v]);
  }
  if (i < end) {
    const auto run = load_run<Element, WIDE>(p + i * m.row_stride, end - i);
#pragma unroll
    for (int v = 0; v < V; v++) sum[v] = add_seen(widen<Wide>(run.at[v]), sum[v]);
  }
  double total = sum[0];
#pragma unroll
  for (int v = 1; v < V; v++) total += sum[v];
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    total += __shfl_xor_sync(~0u, total, distance);
  if (threadIdx.x == 0) of_parts[part * m.cols + col] = total;
}

template <class Element, bool WIDE>
__global__ void __launch_bounds__(LANES *LINES)
    scan_columns(dm_view m, Blocks of, double *of_parts) {
  for (int64_t block = blockIdx.x; block < of.count; block += gridDim.x)
    scan_block_of_columns<Element, WIDE>(m, of, block, of_parts);
}

int64_t blocks_across(dm_view m, int64_t size) {
  const int64_t columns = has_near_rows(m)         ? LINES
                          : rows_are_wide(m, size) ? LANES * (16 / size)
                                                   : LANES;
  return (m.cols + columns - 1) / columns;
}

template <class Element>
cudaError_t launch(dm_view m, int64_t parts, int64_t most, double *of_parts, double *sums,
                   cudaStream_t stream) {
  const int64_t across = blocks_across(m, sizeof(Element));
  const bool columns = has_near_rows(m);
  const bool wide = rows_are_wide(columns ? turned(m) : m, sizeof(Element));
  const int64_t step = columns ? STEP : 1, steps = (m.rows + step - 1) / step;
  const Blocks of = {across * parts, across, (steps + parts - 1) / parts * step};
  const int64_t at_once = most > 0 && most < of.count ? most : of.count;
  if (at_once > INT32_MAX) return cudaErrorInvalidConfiguration;
  const auto kernel = columns ? (wide ? scan_columns<Element, true> : scan_columns<Element, false>)
                              : (wide ? scan<Element, true> : scan<Element, false>);
  kernel<<<(unsigned)at_once, dim3(LANES, LINES), 0, stream>>>(m, of, of_parts);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess && sums ? launch_fold(sums, of_parts, m.cols, parts, stream) : error;
}

} // namespace

int64_t dm_kernels_scan_parts(dm_view matrix, int processors) {
  int64_t across = 1;
  with_type(matrix.dtype, [&](auto element) {
    across = blocks_across(matrix, sizeof element);
    return cudaSuccess;
  });
  const int64_t wanted = (int64_t)processors * BLOCKS_PER_PROCESSOR / across;
  const int64_t least = has_near_rows(matrix) ? STEP : 8 * LINES; /* 8 rows for each thread */
  const int64_t most = (matrix.rows + least - 1) / least;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

cudaError_t dm_kernels_scan_load(dm_dtype dtype) {
  return with_type(dtype, [&](auto element) { return load_now(scan<decltype(element), true>); });
}

cudaError_t dm_kernels_scan(dm_view matrix, int64_t parts, int64_t most, double *scratch,
                            double *sums, cudaStream_t stream) {
  return with_type(matrix.dtype, [&](auto element) {
    return launch<decltype(element)>(matrix, parts, most, scratch, sums, stream);
  });
}
