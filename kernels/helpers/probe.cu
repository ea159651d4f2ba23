/* probe: sums[i] += sum_j M(i,j) x[j] and squares[i] += sum_j |M(i,j) x[j]|^2, reading M once.
 *
 * A group of lanes, a warp or for short rows a quarter of one, processes 8 rows at once (4 of i8,
 * whose 16 elements per load need more registers), so each piece of x in registers serves 8 loads
 * of M: x is f64 even if M has 16 bits, and reading it again for every row would cost more than
 * reading M.  The lanes read neighbouring pieces of a row, of 16 bytes if the rows allow it.  If
 * there are few rows, the columns are split into parts, which fold adds.  If columns are contiguous
 * instead, the lanes read neighbouring pieces of a column. */
#include "kernels/helpers/fold.cuh"
#include "kernels/helpers/probe.cuh"
#include "kernels/verify_kernels.h"

namespace {

constexpr int WARPS = 4;
constexpr int SHORT = 8;        /* lanes of a group for short rows, ... */
constexpr int SHORT_ROW = 1024; /* ... which have at most so many bytes */
constexpr int64_t STEP = 512;   /* parts begin at its multiples: a run per lane, for every type */
constexpr int WARPS_PER_PROCESSOR = 32;

template <class Element> struct Warp {
  static constexpr int ROWS = sizeof(Element) == 1 ? 4 : 8;
  /* Blocks of a multiprocessor, which limit the registers. */
  static constexpr int BLOCKS = sizeof(Element) == 2 ? 3 : sizeof(Element) == 1 ? 1 : 0;
};

/* |m x|^2 + c; products of integers do not wrap. */
__device__ __forceinline__ double add_square(double m, double x, double c) {
  return mad_square(m * x, c);
}
__device__ __forceinline__ double add_square(Complex128 m, Complex128 x, double c) {
  return mad_square(mad(m, x, Complex128()), c);
}
__device__ __forceinline__ double add_square(int64_t m, int64_t x, double c) {
  return mad_square((double)m * (double)x, c);
}

/* LENGTH numbers at X, of which COUNT exist; FULL: all of them. */
template <bool FULL, int LENGTH, class Wide>
__device__ __forceinline__ void load_vector(Wide (&xs)[LENGTH], const Wide *x, int64_t count) {
  if (FULL && sizeof xs % 16 == 0) { /* runs begin at multiples of their length */
    memcpy(xs, __builtin_assume_aligned(x, 16), sizeof xs);
  } else {
#pragma unroll
    for (int v = 0; v < LENGTH; v++) xs[v] = FULL || v < count ? x[v] : Wide();
  }
}

template <class Wide> struct RowSums {
  Wide sum;
  double square, norm;
};

/* Adds one run of columns of ROWS rows; FULL: COUNT covers the whole run. SIZED: squares with sizes
 * of their own and, if asked for, norms. */
template <class Element, bool WIDE, bool FULL, bool SIZED, int ROWS, class Wide>
__device__ __forceinline__ void add_run(const Element *const (&row)[ROWS], int64_t offset,
                                        const Wide *x, const double *size, int64_t count,
                                        RowSums<Wide> (&sum)[ROWS], bool squares, bool norms) {
  typedef Run<Element, WIDE> R;
  Wide xs[R::LENGTH];
  double sizes[R::LENGTH];
  load_vector<FULL>(xs, x, count);
  if (SIZED) load_vector<FULL>(sizes, size, count);
  Mask mask;
  if constexpr (SIZED)
    mask = mask_of<Element>(sizes);
  else
    mask = mask_of<Element>(xs);
  R run[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) /* all loads before the first use */
    run[r] = FULL ? load_run<Element, WIDE>(row[r] + offset)
                  : load_run<Element, WIDE>(row[r] + offset, count);
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const R kept = masked(run[r], mask);
#pragma unroll
    for (int v = 0; v < R::LENGTH; v++) {
      const Wide element = widen<Wide>(kept.at[v]);
      sum[r].sum = mad(element, xs[v], sum[r].sum);
      if (SIZED)
        sum[r].square = add_sized(element, sizes[v], sum[r].square);
      else if (squares)
        sum[r].square = add_square(element, xs[v], sum[r].square);
      if (SIZED && norms) sum[r].norm = mad_square(widen<Wide>(run[r].at[v]), sum[r].norm);
    }
  }
}

/* How blocks divide a matrix: the blocks for the rows of an entry, one below the other, then those
 * of the next entry, and all of these for each part of the columns. */
struct Blocks {
  int64_t count, down, cols_per_part, entries;
  int64_t entry_rows, x_step;
};

/* The part, the entry and the place within its rows of block NUMBER. */
struct Place {
  int64_t part, entry, down;
};

__device__ __forceinline__ Place place_of(const Blocks &of, int64_t number) {
  if (of.count == of.down) return {0, 0, number}; /* divisions take longer than a short row */
  const int64_t entry = number / of.down;
  return {entry / of.entries, entry % of.entries, number % of.down};
}

template <class Element, bool WIDE, bool SIZED, int GROUP, class Wide>
__device__ __forceinline__ void probe_block(const dm_view &m, const Wide *x, const double *size,
                                            const Blocks &of, int64_t block, Wide *sums,
                                            double *squares, double *norms) {
  constexpr int V = Run<Element, WIDE>::LENGTH, ROWS = Warp<Element>::ROWS;
  constexpr int GROUPS = LANES * WARPS / GROUP;
  const int lane = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
  const Place place = place_of(of, block);
  const int64_t part = place.part, in_entry = (place.down * GROUPS + group) * ROWS;
  const int64_t of_warp = (place.down * GROUPS + group / (LANES / GROUP) * (LANES / GROUP)) * ROWS;
  if (of_warp >= of.entry_rows) return; /* the whole warp */
  const int64_t first = place.entry * of.entry_rows + in_entry;
  const int64_t last = (place.entry + 1) * of.entry_rows; /* excluded */
  const int64_t begin = part * of.cols_per_part;
  const int64_t end = begin + of.cols_per_part < m.cols ? begin + of.cols_per_part : m.cols;
  x += place.entry * of.x_step;
  if (SIZED) size += place.entry * of.x_step;

  const Element *row[ROWS]; /* rows beyond the last repeat the last */
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    row[r] = static_cast<const Element *>(m.base) +
             (first + r < last ? first + r : last - 1) * m.row_stride;

  RowSums<Wide> sum[ROWS] = {};
  int64_t j = begin + lane * V;
  for (; j + V <= end; j += GROUP * V)
    add_run<Element, WIDE, true, SIZED>(row, j * m.col_stride, x + j, SIZED ? size + j : size, V,
                                        sum, squares, norms);
  if (j < end)
    add_run<Element, WIDE, false, SIZED>(row, j * m.col_stride, x + j, SIZED ? size + j : size,
                                         end - j, sum, squares, norms);

  Wide of_sum[ROWS];
  double of_square[ROWS], of_norm[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    of_sum[r] = sum[r].sum, of_square[r] = sum[r].square, of_norm[r] = sum[r].norm;
  const Wide total = sum_of_lanes<GROUP>(of_sum);
  const double square = squares ? sum_of_lanes<GROUP>(of_square) : 0.0;
  const double norm = SIZED && norms ? sum_of_lanes<GROUP>(of_norm) : 0.0;
  const int64_t at = first + lane / (GROUP / ROWS);
  if (lane % (GROUP / ROWS) != 0 || at >= last) return;
  sums[part * m.rows + at] = total;
  if (squares) squares[part * m.rows + at] = square;
  if (SIZED && norms) norms[part * m.rows + at] = norm;
}

template <class Element, bool WIDE, bool SIZED, int GROUP, class Wide>
__global__ void __launch_bounds__(LANES *WARPS, Warp<Element>::BLOCKS)
    probe(dm_view m, const Wide *x, const double *size, Blocks of, Wide *sums, double *squares,
          double *norms) {
  for (int64_t block = blockIdx.x; block < of.count; block += gridDim.x)
    probe_block<Element, WIDE, SIZED, GROUP>(m, x, size, of, block, sums, squares, norms);
}

/* ---- matrices whose columns are contiguous ----
 *
 * A block has 8 lines of 32 lanes. The lanes hold the sums of neighbouring rows, as many per lane
 * as 16 bytes have, and each line takes every 8th column. */

constexpr int LINES = 8;

/* Adds the columns BEGIN, BEGIN + LINES, ... below END of the run of rows at P, of which COUNT
 * exist; FULL: all. */
template <class Element, bool WIDE, bool FULL, bool SIZED, int V, class Wide>
__device__ __forceinline__ void
add_columns(const Element *p, int64_t stride, const Wide *x, const double *size, int64_t begin,
            int64_t end, int64_t count, RowSums<Wide> (&sum)[V], bool squares, bool norms) {
#pragma unroll 4
  for (int64_t j = begin; j < end; j += LINES) {
    const auto run = FULL ? load_run<Element, WIDE>(p + j * stride)
                          : load_run<Element, WIDE>(p + j * stride, count);
    const Wide xj = x[j];
    const double own = SIZED ? size[j] : 0.0;
    const bool counts = SIZED ? own != 0.0 : !is_zero(xj);
#pragma unroll
    for (int v = 0; v < V; v++) {
      const Wide element = widen<Wide>(run.at[v]), kept = counts ? element : Wide();
      sum[v].sum = mad(kept, xj, sum[v].sum);
      if (SIZED)
        sum[v].square = add_sized(kept, own, sum[v].square);
      else if (squares)
        sum[v].square = add_square(kept, xj, sum[v].square);
      if (SIZED && norms) sum[v].norm = mad_square(element, sum[v].norm);
    }
  }
}

/* Adds the lines' sums, one kind after the other in the same memory. */
template <int V, class Value>
__device__ __forceinline__ void add_lines(void *memory, const Value (&own)[V], Value *sums,
                                          int64_t row, int64_t rows) {
  Value(*lines)[V][LANES] = static_cast<Value(*)[V][LANES]>(memory);
  const int lane = threadIdx.x, line = threadIdx.y;
  __syncthreads();
#pragma unroll
  for (int v = 0; v < V; v++) lines[line][v][lane] = own[v];
  __syncthreads();
  for (int v = line; v < V; v += LINES) {
    Value total = lines[0][v][lane];
    for (int l = 1; l < LINES; l++) total = plus(total, lines[l][v][lane]);
    if (row + v < rows) sums[row + v] = total;
  }
}

template <class Element, bool WIDE, bool SIZED, class Wide>
__device__ __forceinline__ void
probe_block_of_columns(const dm_view &m, const Wide *x, const double *size, const Blocks &of,
                       int64_t block, Wide *sums, double *squares, double *norms) {
  constexpr int V = Run<Element, WIDE>::LENGTH;
  __shared__ Wide memory[LINES * V * LANES];
  const Place place = place_of(of, block);
  const int64_t part = place.part, rows = (place.entry + 1) * of.entry_rows;
  const int64_t row = place.entry * of.entry_rows + (place.down * LANES + threadIdx.x) * V;
  const int64_t begin = part * of.cols_per_part + threadIdx.y;
  const int64_t last = (part + 1) * of.cols_per_part, end = last < m.cols ? last : m.cols;
  const Element *p = static_cast<const Element *>(m.base) + row;
  RowSums<Wide> sum[V] = {};
  x += place.entry * of.x_step;
  if (SIZED) size += place.entry * of.x_step;
  if (row + V <= rows)
    add_columns<Element, WIDE, true, SIZED>(p, m.col_stride, x, size, begin, end, V, sum, squares,
                                            norms);
  else if (row < rows)
    add_columns<Element, WIDE, false, SIZED>(p, m.col_stride, x, size, begin, end, rows - row, sum,
                                             squares, norms);
  Wide total[V];
  double square[V], norm[V];
#pragma unroll
  for (int v = 0; v < V; v++)
    total[v] = sum[v].sum, square[v] = sum[v].square, norm[v] = sum[v].norm;
  add_lines(memory, total, sums + part * m.rows, row, rows);
  if (squares) add_lines(memory, square, squares + part * m.rows, row, rows);
  if (SIZED && norms) add_lines(memory, norm, norms + part * m.rows, row, rows);
}

template <class Element, bool WIDE, bool SIZED, class Wide>
__global__ void __launch_bounds__(LANES *LINES)
    probe_columns(dm_view m, const Wide *x, const double *size, Blocks of, Wide *sums,
                  double *squares, double *norms) {
  for (int64_t block = blockIdx.x; block < of.count; block += gridDim.x)
    probe_block_of_columns<Element, WIDE, SIZED>(m, x, size, of, block, sums, squares, norms);
}

/* ---- launching ---- */

/* Whether the rows, or the columns, of each entry are read in runs of 16 bytes. */
template <class Element> bool runs_are_wide(dm_view m, int64_t entries) {
  if (!has_columns(m)) return rows_are_wide(m, sizeof(Element));
  const bool aligned = entries == 1 || m.rows / entries * sizeof(Element) % 16 == 0;
  return aligned && rows_are_wide(turned(m), sizeof(Element));
}

/* Whether a quarter of a warp processes a row. */
template <class Element> bool rows_are_short(dm_view m, int64_t entries) {
  const int64_t at_once = LANES * WARPS / SHORT * Warp<Element>::ROWS;
  return !has_columns(m) && runs_are_wide<Element>(m, entries) &&
         m.cols * (int64_t)sizeof(Element) <= SHORT_ROW && m.rows / entries >= at_once;
}

/* Blocks for the rows of an entry. */
template <class Element> int64_t blocks_down(dm_view m, int64_t entries) {
  const int64_t run = runs_are_wide<Element>(m, entries) ? 16 / sizeof(Element) : 1;
  const int64_t groups = LANES * WARPS / (rows_are_short<Element>(m, entries) ? SHORT : LANES);
  const int64_t rows = has_columns(m) ? LANES * run : groups * Warp<Element>::ROWS;
  return (m.rows / entries + rows - 1) / rows;
}

cudaError_t fold_sums(double *to, const double *sums, int64_t rows, int64_t parts,
                      cudaStream_t stream) {
  return launch_fold(to, sums, rows, parts, stream);
}
cudaError_t fold_sums(Complex128 *to, const Complex128 *sums, int64_t rows, int64_t parts,
                      cudaStream_t stream) {
  return launch_fold(reinterpret_cast<double *>(to), reinterpret_cast<const double *>(sums),
                     2 * rows, parts, stream);
}
cudaError_t fold_sums(int64_t *to, const int64_t *sums, int64_t rows, int64_t parts,
                      cudaStream_t stream) {
  return launch_fold(reinterpret_cast<uint64_t *>(to), reinterpret_cast<const uint64_t *>(sums),
                     rows, parts, stream); /* wraps */
}

template <class Element, bool SIZED> auto kernel_of(dm_view m, int64_t entries) {
  typedef typename WideOf<Element>::Type Wide;
  const bool wide = runs_are_wide<Element>(m, entries);
  if (has_columns(m))
    return wide ? probe_columns<Element, true, SIZED, Wide>
                : probe_columns<Element, false, SIZED, Wide>;
  if (rows_are_short<Element>(m, entries)) return probe<Element, true, SIZED, SHORT, Wide>;
  return wide ? probe<Element, true, SIZED, LANES, Wide>
              : probe<Element, false, SIZED, LANES, Wide>;
}

template <class Element> cudaError_t launch(const dm_probe_work &w) {
  typedef typename WideOf<Element>::Type Wide;
  const dm_view m = w.matrix;
  const bool columns = has_columns(m);
  const int64_t steps = (m.cols + STEP - 1) / STEP;
  const int64_t entries = w.entries > 1 ? w.entries : 1, down = blocks_down<Element>(m, entries);
  const Blocks of = {
      down * entries * w.parts, down,    (steps + w.parts - 1) / w.parts * STEP, entries,
      m.rows / entries,         w.x_step};
  const int64_t at_once = w.most > 0 && w.most < of.count ? w.most : of.count;
  Wide *of_parts = static_cast<Wide *>(w.scratch);
  double *squares_of_parts =
      w.squares ? reinterpret_cast<double *>(of_parts + w.parts * m.rows) : nullptr;
  double *norms_of_parts = w.norms ? squares_of_parts + w.parts * m.rows : nullptr;
  if (at_once > INT32_MAX) return cudaErrorInvalidConfiguration;
  const auto kernel =
      w.sizes ? kernel_of<Element, true>(m, entries) : kernel_of<Element, false>(m, entries);
  kernel<<<(unsigned)at_once, columns ? dim3(LANES, LINES) : dim3(LANES * WARPS), 0, w.stream>>>(
      m, static_cast<const Wide *>(w.x), w.sizes, of, of_parts, squares_of_parts, norms_of_parts);
  cudaError_t error = cudaGetLastError();
  if (!w.sums) return error;
  if (error == cudaSuccess)
    error = fold_sums(static_cast<Wide *>(w.sums), of_parts, m.rows, w.parts, w.stream);
  if (error == cudaSuccess && w.squares)
    error = fold_sums(w.squares, squares_of_parts, m.rows, w.parts, w.stream);
  if (error == cudaSuccess && w.norms)
    error = fold_sums(w.norms, norms_of_parts, m.rows, w.parts, w.stream);
  return error;
}

} // namespace

int64_t dm_kernels_probe_parts(dm_view matrix, int processors) {
  int64_t warps = WARPS;
  with_type(matrix.dtype, [&](auto element) {
    warps = blocks_down<decltype(element)>(matrix, 1) * (has_columns(matrix) ? LINES : WARPS);
    return cudaSuccess;
  });
  const int64_t wanted = (int64_t)processors * WARPS_PER_PROCESSOR / warps;
  const int64_t most = (matrix.cols + STEP - 1) / STEP;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

cudaError_t dm_kernels_probe_load(dm_dtype dtype) {
  return with_type(dtype, [&](auto element) {
    typedef decltype(element) Element;
    const cudaError_t error =
        load_now(probe<Element, true, false, LANES, typename WideOf<Element>::Type>);
    return error == cudaSuccess ? load_now(fold<double>) : error;
  });
}

cudaError_t dm_kernels_probe(const dm_probe_work *work) {
  return with_type(work->matrix.dtype,
                   [&](auto element) { return launch<decltype(element)>(*work); });
}
