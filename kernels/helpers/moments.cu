/* moments: means and squares of the columns of a matrix in one pass.
 *
 * The idea: each thread keeps the moments of a few columns. It adds some elements at once, as sums
 * of their differences from the mean so far, which costs no digits unless this mean is that of far
 * fewer elements: then the differences from a better mean are summed again. All is relative to an
 * element of the column, so that equal elements have exactly their mean. The moments of threads and
 * of parts are joined in a fixed order (Chan, Golub, LeVeque 1979).
 *
 * If rows are contiguous, neighbouring threads read neighbouring columns; if columns are, the lanes
 * of a warp share one. A thread loads 128 bytes before it adds them: only that many loads under way
 * in all threads keep the memory busy. The first ones are added twice: their mean is not known
 * before. */
#include "kernels/helpers/few.cuh"
#include "kernels/helpers/run.cuh"
#include "kernels/line_kernels.h"

namespace {

constexpr int LANES = 32, WARPS = 8, THREADS = LANES * WARPS;
constexpr int BLOCKS = 2;             /* of a multiprocessor, which limit the registers */
constexpr int WAVES = 2;              /* of blocks, if columns are contiguous */
constexpr int DEPTH = 4;              /* rows that a thread adds at once */
constexpr int BATCH = 128, MOST = 16; /* bytes, and at most runs, that are loaded before adding */

template <class Number> struct Moments {
  Number from, mean; /* mean: less FROM */
  double squares, weight, present;
};

/* Squares are rounded up, so that only those of 0 vanish. */
__device__ __forceinline__ double add_square(double a, double c) {
  return __fma_ru(a, a, c);
}
__device__ __forceinline__ double add_square(Complex128 a, double c) {
  return __fma_ru(a.im, a.im, __fma_ru(a.re, a.re, c));
}

/* SQUARES, a difference with sums of squares whose last one is SECOND, but for rounding. */
__device__ __forceinline__ double not_negative(double squares, double second) {
  if (squares <= 0.0) return second > 0.0 && second < 0x1p-1000 ? 0x1p-1074 : 0.0;
  return squares; /* NaN stays */
}

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
  m.squares += __dmul_ru(add_square(delta, 0.0), m.weight * part) + more.squares;
  m.mean = plus(m.mean, part, delta);
  m.weight = all;
}

/* Weighted sums of differences, and of their squares. */
template <class Number> struct Sums {
  Number first;
  double second;
};

template <class Number>
__device__ __forceinline__ void add_to(Sums<Number> &sums, const Sums<Number> &more) {
  sums.first = plus(sums.first, 1.0, more.first);
  sums.second += more.second;
}

template <class Number, int COUNT>
__device__ __forceinline__ Sums<Number>
sum(const Number (&x)[COUNT], const double (&weights)[COUNT], Number from, Number mean) {
  Sums<Number> of = {};
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const Number d = is_nan(x[i]) ? Number() : minus(minus(x[i], from), mean);
    of.first = plus(of.first, weights[i], d);
    of.second = __fma_ru(weights[i], add_square(d, 0.0), of.second);
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
    m.squares = __fma_ru(m.weight, add_square(delta, 0.0), m.squares);
    of = sum(x, own, m.from, m.mean);
    of.first = plus(of.first, -m.weight, delta);
  }
  m.weight += weight;
  const double part = 1.0 / m.weight;
  const double squares = m.squares + of.second - mad_square(of.first, 0.0) * part;
  m.squares = not_negative(squares, of.second);
  m.mean = plus(m.mean, part, of.first);
  return present;
}

/* 1 / a of a positive integer but for a rounding or two; no branches. */
__device__ __forceinline__ double reciprocal(double a) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  r = fma(r, fma(-a, r, 1.0), r);
  return fma(r, fma(-a, r, 1.0), r);
}

/* The same as ADD of COUNT elements of weight 1, of which SUMS are those of the differences from
 * SHIFT, the rounded sum of FROM and the mean, for whose rounding both are corrected. */
template <class Number>
__device__ __forceinline__ void add_sums(Moments<Number> &m, const Sums<Number> &sums, Number shift,
                                         double count, double of_count) {
  const Number rounded = minus(minus(shift, m.from), m.mean);
  const double all = m.weight + count, part = reciprocal(all);
  const Number first = plus(sums.first, count, rounded);
  const double square = mad_square(first, 0.0);
  const double second = sums.second + (square - mad_square(sums.first, 0.0)) * of_count;
  const double squares = m.squares + second - square * part;
  m.squares = not_negative(squares, sums.second);
  m.mean = plus(m.mean, part, first);
  m.weight = all;
  m.present += count;
}

/* Runs of COUNT elements that are loaded before they are added. */
template <class Element, int COUNT>
constexpr int runs_of = BATCH / COUNT / (int)sizeof(Element) < MOST
                            ? BATCH / COUNT / (int)sizeof(Element)
                            : MOST;

__device__ __forceinline__ void note(int64_t *first, int64_t place) {
  if (place < *(volatile int64_t *)first)
    atomicMin(reinterpret_cast<unsigned long long *>(first), (unsigned long long)place);
}

/* Elements x[u][v] = BASE[at + u * step + v], whose places in the matrix are PLACE + u * OF_RUN + v
 * * OF_ELEMENT. */
struct Runs {
  const void *base;
  int64_t at, step, place, of_run, of_element;
};

template <class Element, class Number, int COUNT>
__device__ __forceinline__ void add_run(Sums<Number> (&sums)[COUNT], const Few<Element, COUNT> &x,
                                        const Number *shift, int columns) {
#pragma unroll
  for (int v = 0; v < COUNT; v++) {
    const Number d = minus(widen<Number>(x.at[v]), shift[v % columns]);
    sums[v].first = plus(sums[v].first, 1.0, d);
    sums[v].second = add_square(d, sums[v].second);
  }
}

/* Adds elements of weight 1 with less work than ADD: those at V to column V, or all to the only
 * one; returns the number of runs. *LEFT: columns to which nothing was added, because fewer
 * elements were added before. *NOTED: columns whose first missing element is known. */
template <class Element, class Number, int COUNT, int COLUMNS>
__device__ __forceinline__ int add_runs(Moments<Number> (&of)[COLUMNS], const Runs &runs,
                                        int64_t *first_missing, unsigned *noted, unsigned *left) {
  typedef const Few<Element, COUNT> Loaded;
  constexpr int RUNS = runs_of<Element, COUNT>, EACH = RUNS * COUNT / COLUMNS;
  const Element *p = static_cast<const Element *>(runs.base) + runs.at;
  Few<Element, COUNT> few[RUNS];
  Sums<Number> sums[COUNT] = {};
  Number shift[COLUMNS];
  bool odd = false, fresh = true;
#pragma unroll
  for (int u = 0; u < RUNS; u++) few[u] = *reinterpret_cast<Loaded *>(p + u * runs.step);
#pragma unroll
  for (int v = 0; v < COLUMNS; v++) fresh &= of[v].present == 0.0;
#pragma unroll
  for (int v = 0; v < COLUMNS; v++)
    shift[v] = fresh ? widen<Number>(few[0].at[v]) : plus(of[v].from, 1.0, of[v].mean);
#pragma unroll
  for (int u = 0; u < RUNS; u++) add_run(sums, few[u], shift, COLUMNS);
#pragma unroll
  for (int v = COLUMNS; v < COUNT; v++) add_to(sums[0], sums[v]);
#pragma unroll
  for (int v = 0; v < COLUMNS; v++)
    odd |= is_nan(sums[v].first) || !(fresh || of[v].weight >= EACH);
  *left = 0;
  /* All lanes take the same way: those that take another one would stay behind in later rounds. */
  if (!__any_sync(__activemask(), odd)) {
    if (fresh) {
#pragma unroll
      for (int v = 0; v < COLUMNS; v++) {
        of[v].from = shift[v];
        of[v].mean = plus(Number(), 1.0 / EACH, sums[v].first);
        shift[v] = plus(of[v].from, 1.0, of[v].mean);
      }
#pragma unroll
      for (int v = 0; v < COUNT; v++) sums[v] = {};
#pragma unroll 2
      for (int u = 0; u < RUNS; u++) /* again from the cache: registers are scarce */
        add_run(sums, *reinterpret_cast<Loaded *>(p + u * runs.step), shift, COLUMNS);
#pragma unroll
      for (int v = COLUMNS; v < COUNT; v++) add_to(sums[0], sums[v]);
    }
#pragma unroll
    for (int v = 0; v < COLUMNS; v++) add_sums(of[v], sums[v], shift[v], EACH, 1.0 / EACH);
    return RUNS;
  }
  int count[COUNT] = {};
#pragma unroll
  for (int v = 0; v < COUNT; v++) sums[v] = {};
#pragma unroll 2
  for (int u = 0; u < RUNS; u++) { /* from the cache, too */
    const Few<Element, COUNT> x = *reinterpret_cast<Loaded *>(p + u * runs.step);
#pragma unroll
    for (int v = 0; v < COUNT; v++) {
      const Number number = widen<Number>(x.at[v]);
      const bool is = !is_nan(number);
      const Number d = is ? minus(number, shift[v % COLUMNS]) : Number();
      sums[v].first = plus(sums[v].first, 1.0, d);
      sums[v].second = add_square(d, sums[v].second);
      count[v] += is;
      if (is || (*noted >> v % COLUMNS & 1)) continue;
      *noted |= 1u << v % COLUMNS;
      note(first_missing, runs.place + u * runs.of_run + v * runs.of_element);
    }
  }
#pragma unroll
  for (int v = COLUMNS; v < COUNT; v++) {
    add_to(sums[0], sums[v]);
    count[0] += count[v];
  }
#pragma unroll
  for (int v = 0; v < COLUMNS; v++) {
    if (!(of[v].weight >= count[v]))
      *left |= 1u << v;
    else if (count[v] > 0)
      add_sums(of[v], sums[v], shift[v], count[v],
               count[v] == EACH ? 1.0 / EACH : reciprocal(count[v]));
  }
  return RUNS;
}

template <int COUNT, int COLUMNS, class Number, class... More>
__device__ __forceinline__ int add_plain(Moments<Number> (&of)[COLUMNS], dm_dtype dtype,
                                         const More &...more) {
  if constexpr (parts_of<Number> == 2)
    return dtype == DM_C64 ? add_runs<Complex64, Number, COUNT>(of, more...)
                           : add_runs<Complex128, Number, COUNT>(of, more...);
  else
    switch (dtype) {
    case DM_F64:
      return add_runs<double, Number, COUNT>(of, more...);
    case DM_F32:
      return add_runs<float, Number, COUNT>(of, more...);
    case DM_F16:
      return add_runs<__half, Number, COUNT>(of, more...);
    case DM_BF16:
      return add_runs<__nv_bfloat16, Number, COUNT>(of, more...);
    case DM_I8:
      return add_runs<int8_t, Number, COUNT>(of, more...);
    default:
      return add_runs<int32_t, Number, COUNT>(of, more...);
    }
}

/* Whether elements are taken as they are, have weight 1, and only NaN is missing. */
__device__ __forceinline__ bool is_plain(const dm_moments_work &work) {
  return !work.weights && !work.powers && work.gaps.count == 0 && !work.gaps.zero;
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
  int together;        /* runs that add_plain adds */
};

/* Of an element of a row; negative: it is left out. */
__device__ __forceinline__ double weight_of(const dm_moments_work &work, int64_t row) {
  return work.weights ? work.weights[row] : 1.0;
}

template <class Number>
__device__ __forceinline__ Number taken(const dm_moments_work &work, Number x, int64_t col) {
  const Number number = without_gaps(work.gaps, x);
  return work.powers ? scaled(number, work.powers[col]) : number;
}

/* Adds DEPTH rows, those before END, to the columns LEFT from COL on, any elements with any
 * weights.
 */
template <class Number, int COUNT>
__device__ __forceinline__ void add_rows(const dm_moments_work &work, Moments<Number> (&of)[COUNT],
                                         int64_t row, int64_t end, int64_t col, int width,
                                         unsigned left) {
  const dm_view &m = work.matrix;
  Number x[DEPTH][COUNT];
  int count[DEPTH];
#pragma unroll
  for (int u = 0; u < DEPTH; u++) count[u] = row + u < end ? width : 0;
  load_few(x, m.dtype, m.base, row * m.row_stride + col * m.col_stride, m.row_stride, count);
#pragma unroll
  for (int v = 0; v < COUNT; v++) {
    Number column[DEPTH];
    double weights[DEPTH];
    bool is[DEPTH];
    int there = 0;
    if (!(left >> v & 1)) continue;
#pragma unroll
    for (int u = 0; u < DEPTH; u++) {
      weights[u] = row + u < end ? weight_of(work, row + u) : 0.0;
      is[u] = v < count[u] && weights[u] >= 0.0;
      there += is[u];
      column[u] = is[u] ? taken(work, x[u][v], col + v) : missing<Number>();
    }
    if (add(of[v], column, weights) == there) continue;
    note(work.first,
         (row + first_missing(column, is)) * work.row_place + (col + v) * work.col_place);
  }
}

/* Rows are contiguous, or nothing is. GROUPS: of COUNT columns. */
template <class Number, int COUNT>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    across(dm_moments_work work, Parts parts, int64_t groups) {
  const dm_view &m = work.matrix;
  const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  const int64_t part = thread / groups, col = thread % groups * COUNT;
  const int64_t begin = part * parts.rows, last = begin + parts.rows;
  const int64_t end = last < m.rows ? last : m.rows;
  const int width = m.cols - col < COUNT ? (int)(m.cols - col) : COUNT;
  const bool plain = is_plain(work) && width == COUNT;
  Moments<Number> of[COUNT] = {};
  unsigned noted = 0;
  if (part >= parts.count) return;
  for (int64_t row = begin; row < end;) {
    unsigned left = ~0u;
    int rows = DEPTH;
    if (plain && row + parts.together <= end)
      rows = add_plain<COUNT>(of, m.dtype,
                              Runs{m.base, row * m.row_stride + col * m.col_stride, m.row_stride,
                                   row * work.row_place + col * work.col_place, work.row_place,
                                   work.col_place},
                              work.first, &noted, &left);
    if (left != 0) {
#pragma unroll 1
      for (int u = 0; u < rows; u += DEPTH) add_rows(work, of, row + u, end, col, width, left);
    }
    row += rows;
  }
  Moments<Number> *to = static_cast<Moments<Number> *>(work.scratch);
#pragma unroll
  for (int v = 0; v < COUNT; v++)
    if (v < width) to[(col + v) * parts.count + part] = of[v];
}

/* Adds RUNS runs of a column, those before END, the first at ROW; any elements with any weights. */
template <int RUNS, int COUNT, class Number>
__device__ __forceinline__ void add_column(const dm_moments_work &work, Moments<Number> &of,
                                           int64_t row, int64_t end, int64_t col) {
  constexpr int STEP = LANES * COUNT;
  const dm_view &m = work.matrix;
  Number x[RUNS][COUNT], some[RUNS * COUNT];
  double weights[RUNS * COUNT];
  bool is[RUNS * COUNT];
  int count[RUNS], there = 0;
#pragma unroll
  for (int u = 0; u < RUNS; u++) {
    const int64_t left = end - row - u * STEP;
    count[u] = left >= COUNT ? COUNT : left > 0 ? (int)left : 0;
  }
  load_few(x, m.dtype, m.base, row + col * m.col_stride, STEP, count);
#pragma unroll
  for (int i = 0; i < RUNS * COUNT; i++) {
    is[i] = i % COUNT < count[i / COUNT];
    weights[i] = is[i] ? weight_of(work, row + i / COUNT * STEP + i % COUNT) : 0.0;
    is[i] = is[i] && weights[i] >= 0.0;
    there += is[i];
    some[i] = is[i] ? taken(work, x[i / COUNT][i % COUNT], col) : missing<Number>();
  }
  if (add(of, some, weights) == there) return;
  const int first = first_missing(some, is);
  note(work.first,
       (row + first / COUNT * STEP + first % COUNT) * work.row_place + col * work.col_place);
}

/* Columns are contiguous. */
template <class Number, int COUNT>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    along(dm_moments_work work, Parts parts, int64_t warps) {
  constexpr int RUNS = 16 / parts_of<Number> / COUNT, STEP = LANES * COUNT;
  const dm_view &m = work.matrix;
  const int64_t warp = (int64_t)blockIdx.x * WARPS + threadIdx.x / LANES;
  const int64_t col = warp / parts.count, part = warp % parts.count;
  const int64_t begin = part * parts.rows, last = begin + parts.rows;
  const int64_t end = last < m.rows ? last : m.rows;
  const int64_t own = threadIdx.x % LANES * COUNT;
  const bool plain = is_plain(work);
  Moments<Number> of[1] = {};
  unsigned noted = 0;
  if (warp >= warps) return;
  for (int64_t row = begin; row < end;) {
    unsigned left = 1;
    int runs = RUNS;
    if (plain && row + STEP * parts.together <= end)
      runs = add_plain<COUNT>(of, m.dtype,
                              Runs{m.base, row + own + col * m.col_stride, STEP,
                                   (row + own) * work.row_place + col * work.col_place,
                                   STEP * work.row_place, work.row_place},
                              work.first, &noted, &left);
    if (left != 0) {
#pragma unroll 1
      for (int u = 0; u < runs; u += RUNS)
        add_column<RUNS, COUNT>(work, of[0], row + u * STEP + own, end, col);
    }
    row += runs * STEP;
  }
  of[0] = join_lanes(of[0]);
  if (threadIdx.x % LANES == 0)
    static_cast<Moments<Number> *>(work.scratch)[col * parts.count + part] = of[0];
}

/* A block joins the parts of a column. */
template <class Number>
__global__ void __launch_bounds__(THREADS) join_parts(dm_moments_work work, int64_t parts) {
  __shared__ Moments<Number> of_warps[WARPS];
  const int64_t col = blockIdx.x, cols = work.matrix.cols;
  const Moments<Number> *from = static_cast<const Moments<Number> *>(work.scratch) + col * parts;
  Moments<Number> of = {};
  for (int64_t p = threadIdx.x; p < parts; p += THREADS) join(of, from[p]);
  of = join_lanes(of);
  if (threadIdx.x % LANES == 0) of_warps[threadIdx.x / LANES] = of;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < WARPS; w++) join(of, of_warps[w]);
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

/* Columns, or groups of columns, of which a warp or a thread has one. */
int64_t groups_of(dm_view m, int count) {
  return has_columns(m) ? m.cols : divide_up(m.cols, count);
}

/* Elements that a thread reads at once. */
int count_of(dm_view m) {
  const int few = m.dtype == DM_C64 || m.dtype == DM_C128 ? FEW<Complex128> : FEW<double>;
  return has_few(has_columns(m) ? turned(m) : m, few) ? few : 1;
}

/* Rows of a part are multiples of this. */
int64_t step_of(dm_view m) {
  return has_columns(m) ? 512 : MOST;
}

template <class Number, int COUNT> cudaError_t launch(const dm_moments_work *work) {
  const dm_view &m = work->matrix;
  const bool columns = has_columns(m);
  const int64_t step = step_of(m);
  const int64_t loaded = BATCH / COUNT / size_of(m.dtype);
  const Parts parts = {work->parts, divide_up(divide_up(m.rows, step), work->parts) * step,
                       loaded < MOST ? (int)loaded : MOST};
  const int64_t groups = groups_of(m, COUNT), all = groups * parts.count;
  if (all > INT32_MAX) return cudaErrorInvalidConfiguration;
  if (columns)
    along<Number, COUNT>
        <<<blocks_for(divide_up(all, WARPS)), THREADS, 0, work->stream>>>(*work, parts, all);
  else
    across<Number, COUNT>
        <<<blocks_for(divide_up(all, THREADS)), THREADS, 0, work->stream>>>(*work, parts, groups);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  join_parts<Number><<<blocks_for(m.cols), THREADS, 0, work->stream>>>(*work, parts.count);
  return cudaGetLastError();
}

template <class Number> cudaError_t launch_any(const dm_moments_work *work) {
  return count_of(work->matrix) > 1 ? launch<Number, FEW<Number>>(work) : launch<Number, 1>(work);
}

} // namespace

int64_t dm_kernels_moments_parts(dm_view m, int processors) {
  const int64_t threads = (int64_t)processors * BLOCKS * THREADS;
  const int64_t wanted =
      (has_columns(m) ? threads * WAVES / LANES : threads) / groups_of(m, count_of(m));
  const int64_t most = divide_up(m.rows, step_of(m));
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
