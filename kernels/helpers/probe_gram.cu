/* probe_gram: t = X w and then y = X^T t, reading X once: the sums over both operands of a Gram
 * product X^T X.
 *
 * A group of threads takes a few rows of X at once, each thread the same few columns of all of
 * them. The group adds up t over its threads; then each thread, which knows t of these rows, adds
 * its columns' part of X^T t from the same elements. Sums of columns stay in registers until the
 * block has seen all of its rows.
 *
 * Elements come by asynchronous copies, STAGES rows ahead, into shared memory, where a thread reads
 * only what it has copied itself: threads meet once for t, and never for elements. */
#include <type_traits>

#include "kernels/helpers/fold.cuh"
#include "kernels/helpers/judge.cuh"
#include "kernels/helpers/probe.cuh"
#include "kernels/ladder/async_copy.cuh"

namespace {

constexpr int THREADS = 512; /* of a block, one on each multiprocessor: 128 registers each */
constexpr int STAGES = 3;

/* What a thread takes at once. */
template <class Element> struct Held {
  static constexpr int LENGTH = 16 / (int)sizeof(Element); /* of a run */
  static constexpr int RUNS = LENGTH >= 4 ? 1 : 2;         /* of each row, GROUP runs apart */
  static constexpr int COLS = RUNS * LENGTH;
  static constexpr int ROWS = LENGTH > 4 ? 4 : 8 / RUNS; /* fewer of more columns: registers */
};

/* The runs of one stage, of all threads of the block. */
template <class Element, int GROUP> struct Stage {
  Run<Element, true> of[Held<Element>::ROWS][Held<Element>::RUNS][THREADS];
};

/* X w of a row, where w is real. */
template <class Wide, class Size> struct RowOfT {
  Wide t;
  Size square; /* of the size of t; after take_t the size */
};

/* What a thread has of its columns. */
template <class Element, class Wide> struct Columns {
  double w[Held<Element>::COLS], squares[Held<Element>::COLS];
  Wide y[Held<Element>::COLS];

  __device__ __forceinline__ void weigh(int j, double weight) {
    w[j] = weight;
  }
  __device__ __forceinline__ void finish() {
  }
};

/* Of 16-bit elements: converting each to f64 would take longer than reading it. Elements times
 * their weights, which are at most about 1, have room in f32; sums of a few are f32, too, which is
 * as accurate as the sums of the product that they verify. Y and SQUARES are those of columns that
 * are scaled by their weights. */
template <class Element> struct ScaledColumns {
  static constexpr int COLS = Held<Element>::COLS, SPAN = 4; /* steps whose sums are f32 */
  float up[COLS], w[COLS];                                   /* the weight is their product */
  float few_y[COLS], few_squares[COLS];
  double y[COLS], squares[COLS];
  int steps;

  /* Weights of tiny or huge columns of bf16 are no numbers of f32. */
  static constexpr bool WIDE = std::is_same<Element, __nv_bfloat16>::value;
  __device__ __forceinline__ void weigh(int j, double weight) {
    const double half = WIDE && weight != 0.0 ? exp2((double)(ilogb(weight) / 2)) : 1.0;
    up[j] = (float)half, w[j] = (float)(weight / half);
  }
  __device__ __forceinline__ float scaled(int j, float element) const {
    return (WIDE ? element * up[j] : element) * w[j];
  }
  __device__ __forceinline__ void add_few() {
#pragma unroll
    for (int j = 0; j < COLS; j++) {
      y[j] += few_y[j], squares[j] += few_squares[j];
      few_y[j] = few_squares[j] = 0.0f;
    }
    steps = 0;
  }
  __device__ __forceinline__ void count_step() {
    if (++steps == SPAN) add_few();
  }
  /* Weights are 0 for columns with NaN; their sums are NaN. */
  __device__ __forceinline__ void finish() {
    add_few();
#pragma unroll
    for (int j = 0; j < COLS; j++) {
      const double weight = (double)up[j] * (double)w[j];
      y[j] /= weight, squares[j] = squares[j] / weight / weight;
    }
  }
};

/* Where the warps of a group of several add up their sums: in shared memory, with two buffers in
 * turn, so that the group synchronizes once for each step. */
template <int GROUP, int ROWS, class Sum> struct Meeting {
  Sum of[2][THREADS / GROUP][GROUP > LANES ? GROUP / LANES : 1][ROWS];
};

/* Synchronizes the threads of a group of more than a warp. */
template <int GROUP> __device__ __forceinline__ void synchronize_group() {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / GROUP), "n"(GROUP) : "memory");
}

/* Lanes that share a row's sum after sum_of_lanes. */
template <int GROUP, int ROWS> constexpr int SHARES = (GROUP < LANES ? GROUP : LANES) / ROWS;

template <class Sum> __device__ __forceinline__ Sum added(const Sum &a, const Sum &b) {
  return {plus(a.t, b.t), a.square + b.square};
}

template <int GROUP, int ROWS, class Wide, class Size>
__device__ __forceinline__ RowOfT<Wide, Size>
sum_of_group(Wide (&t)[ROWS], Size (&square)[ROWS],
             Meeting<GROUP, ROWS, RowOfT<Wide, Size>> &meeting, int turn) {
  constexpr int OF = GROUP < LANES ? GROUP : LANES, SHARE = SHARES<GROUP, ROWS>;
  RowOfT<Wide, Size> mine = {sum_of_lanes<OF>(t), sum_of_lanes<OF>(square)};
  if constexpr (GROUP > LANES) {
    const int lane = threadIdx.x % LANES, row = lane / SHARE, warp = threadIdx.x % GROUP / LANES;
    auto &of_warps = meeting.of[turn][threadIdx.x / GROUP];
    if (lane % SHARE == 0) of_warps[warp][row] = mine;
    synchronize_group<GROUP>();
    mine = {};
#pragma unroll
    for (int first = 0; first < GROUP / LANES; first += SHARE) { /* lanes do not part */
      const int w = first + lane % SHARE;
      const RowOfT<Wide, Size> more = of_warps[w < GROUP / LANES ? w : 0][row];
      mine = added(mine, w < GROUP / LANES ? more : RowOfT<Wide, Size>());
    }
#pragma unroll
    for (int distance = SHARE / 2; distance > 0; distance /= 2)
      mine = added(mine, {of_lane(mine.t, distance), of_lane(mine.square, distance)});
  }
  return mine;
}

__device__ __forceinline__ float from_lane(float v, int lane) {
  return __shfl_sync(~0u, v, lane);
}
__device__ __forceinline__ double from_lane(double v, int lane) {
  return __shfl_sync(~0u, v, lane);
}
__device__ __forceinline__ Complex128 from_lane(Complex128 v, int lane) {
  return {from_lane(v.re, lane), from_lane(v.im, lane)};
}
__device__ __forceinline__ double real_part(double v) {
  return v;
}
__device__ __forceinline__ double real_part(Complex128 v) {
  return v.re;
}
__device__ __forceinline__ double scaled(double v, double by) {
  return v * by;
}
__device__ __forceinline__ Complex128 scaled(Complex128 v, double by) {
  return {v.re * by, v.im * by};
}
__device__ __forceinline__ float conjugate(float v) {
  return v;
}
__device__ __forceinline__ double conjugate(double v) {
  return v;
}
__device__ __forceinline__ Complex128 conjugate(Complex128 v) {
  return {v.re, -v.im};
}

/* What a thread found in t: as take_t in judge.cu. */
struct FoundInT {
  double spread;
  bool strained;
};

/* The same of scaled columns, beside which sizes that vanish do not matter. */
__device__ __forceinline__ float size_of_t(float square, bool, bool *strained) {
  *strained = !isfinite(square);
  return square > 0.0f ? square * rsqrtf(square) : 0.0f; /* for bounds: to a few roundoffs */
}

/* The number of t, and its size, of the row whose sum this lane has; 0 if there are not so many
 * rows LEFT. */
template <int GROUP, int ROWS, class Wide, class Size>
__device__ __forceinline__ RowOfT<Wide, Size> take_t(const RowOfT<Wide, Size> &mine, int64_t left,
                                                     bool turns, FoundInT *found) {
  constexpr int SHARE = SHARES<GROUP, ROWS>, OF = GROUP < LANES ? GROUP : LANES;
  const int lane = threadIdx.x % LANES;
  const bool exists = lane % OF / SHARE < left;
  const bool counts = exists && lane % SHARE == 0 && threadIdx.x % GROUP < LANES;
  bool strained;
  const Size size = size_of_t(mine.square, is_zero(mine.t), &strained);
  found->spread += counts ? mine.square : Size();
  found->strained |= exists && strained;
  return exists ? RowOfT<Wide, Size>{turns ? conjugate(mine.t) : mine.t, size}
                : RowOfT<Wide, Size>();
}

/* Adds what the lanes of a warp found to COLUMNS; SAMPLES: weights follow from a sample. */
__device__ __forceinline__ void tell(FoundInT found, bool samples, dm_columns_found *columns) {
  if (found.strained) columns->strained = 1;
  if (!samples) return;
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    found.spread += of_lane(found.spread, distance);
  if (threadIdx.x % LANES == 0) atomicAdd(&columns->spread, found.spread);
}

template <class Element, int GROUP, class Wide>
__device__ __forceinline__ void
add_rows(const Stage<Element, GROUP> &x, const Mask (&mask)[Held<Element>::RUNS], int64_t left,
         bool turns, int turn, Meeting<GROUP, Held<Element>::ROWS, RowOfT<Wide, double>> &meeting,
         Columns<Element, Wide> *c, FoundInT *found) {
  typedef Held<Element> H;
  constexpr int SHARE = SHARES<GROUP, H::ROWS>, OF = GROUP < LANES ? GROUP : LANES;
  Wide t[H::ROWS] = {};
  double square[H::ROWS] = {};
#pragma unroll
  for (int r = 0; r < H::ROWS; r++)
#pragma unroll
    for (int u = 0; u < H::RUNS; u++) {
      const auto kept = masked(x.of[r][u][threadIdx.x], mask[u]);
#pragma unroll
      for (int v = 0; v < H::LENGTH; v++) {
        const Wide part = scaled(widen<Wide>(kept.at[v]), c->w[u * H::LENGTH + v]);
        t[r] = plus(t[r], part);
        square[r] = mad_square(part, square[r]);
      }
    }
  const RowOfT<Wide, double> of_row =
      take_t<GROUP, H::ROWS>(sum_of_group<GROUP>(t, square, meeting, turn), left, turns, found);
#pragma unroll
  for (int r = 0; r < H::ROWS; r++) {
    const int from = threadIdx.x % LANES / OF * OF + r * SHARE;
    const Wide t_of_row = from_lane(of_row.t, from);
    const double s = from_lane(of_row.square, from);
#pragma unroll
    for (int u = 0; u < H::RUNS; u++) {
      const auto run = x.of[r][u][threadIdx.x];
#pragma unroll
      for (int v = 0; v < H::LENGTH; v++) {
        const Wide element = widen<Wide>(run.at[v]);
        const int j = u * H::LENGTH + v;
        c->y[j] = mad(element, t_of_row, c->y[j]);
        c->squares[j] = add_sized(element, s, c->squares[j]);
      }
    }
  }
}

/* The same of 16-bit elements. */
template <class Element, int GROUP>
__device__ __forceinline__ void
add_rows(const Stage<Element, GROUP> &x, const Mask (&mask)[Held<Element>::RUNS], int64_t left,
         bool turns, int turn, Meeting<GROUP, Held<Element>::ROWS, RowOfT<float, float>> &meeting,
         ScaledColumns<Element> *c, FoundInT *found) {
  typedef Held<Element> H;
  constexpr int SHARE = SHARES<GROUP, H::ROWS>, OF = GROUP < LANES ? GROUP : LANES;
  float scaled[H::ROWS][H::COLS], t[H::ROWS] = {}, square[H::ROWS] = {};
#pragma unroll
  for (int r = 0; r < H::ROWS; r++) {
    const auto kept = masked(x.of[r][0][threadIdx.x], mask[0]);
#pragma unroll
    for (int j = 0; j < H::COLS; j++) {
      scaled[r][j] = c->scaled(j, widen<float>(kept.at[j]));
      t[r] += scaled[r][j];
      square[r] = fmaf(scaled[r][j], scaled[r][j], square[r]);
    }
  }
  const RowOfT<float, float> of_row =
      take_t<GROUP, H::ROWS>(sum_of_group<GROUP>(t, square, meeting, turn), left, turns, found);
#pragma unroll
  for (int r = 0; r < H::ROWS; r++) {
    const int from = threadIdx.x % LANES / OF * OF + r * SHARE;
    const float t_of_row = from_lane(of_row.t, from), size = from_lane(of_row.square, from);
#pragma unroll
    for (int j = 0; j < H::COLS; j++) {
      const float sized = scaled[r][j] * size;
      c->few_y[j] = fmaf(scaled[r][j], t_of_row, c->few_y[j]);
      c->few_squares[j] = fmaf(sized, sized, c->few_squares[j]);
    }
  }
  c->count_step();
}

/* Adds the columns' numbers of all groups of the block, in their order, and writes them; the groups
 * of a warp come first. */
template <class Element, int GROUP, class Value>
__device__ __forceinline__ void write_columns(Value (&of)[Held<Element>::COLS], void *memory,
                                              int64_t cols, Value *to) {
  typedef Held<Element> H;
  constexpr int OF = GROUP < LANES ? LANES : GROUP;
  Value *all = static_cast<Value *>(memory);
#pragma unroll
  for (int distance = GROUP; distance < LANES; distance *= 2)
#pragma unroll
    for (int j = 0; j < H::COLS; j++) of[j] = plus(of[j], of_lane(of[j], distance));
  for (int g = 0; g < THREADS; g += OF) {
    __syncthreads();
    if ((int)threadIdx.x < g || (int)threadIdx.x >= g + GROUP) continue;
#pragma unroll
    for (int j = 0; j < H::COLS; j++) {
      Value &sum = all[j * GROUP + threadIdx.x % GROUP];
      sum = g > 0 ? plus(sum, of[j]) : of[j];
    }
  }
  __syncthreads();
  for (int64_t j = threadIdx.x; j < cols; j += THREADS) {
    const int run = (int)(j / H::LENGTH), place = run / GROUP * H::LENGTH + (int)(j % H::LENGTH);
    to[j] = all[place * GROUP + run % GROUP];
  }
}

/* Copies the rows from FIRST on; elements beyond X are 0. COUNT: bytes of the thread's runs that
 * exist. */
template <class Element, int GROUP>
__device__ __forceinline__ void copy_rows(const dm_view &x, int64_t first,
                                          const int (&count)[Held<Element>::RUNS],
                                          Stage<Element, GROUP> *to) {
  typedef Held<Element> H;
  const Element *row = static_cast<const Element *>(x.base) + first * x.row_stride +
                       (int64_t)(threadIdx.x % GROUP) * H::LENGTH;
#pragma unroll
  for (int r = 0; r < H::ROWS; r++)
#pragma unroll
    for (int u = 0; u < H::RUNS; u++) {
      const int valid = first + r < x.rows ? count[u] : 0;
      const Element *from = row + r * x.row_stride + u * GROUP * H::LENGTH;
      copy_vector_async(&to->of[r][u][threadIdx.x], valid > 0 ? from : x.base, valid);
    }
  commit_copies();
}

template <class Element, int GROUP, class Wide>
__global__ void __launch_bounds__(THREADS, 1)
    probe_gram(dm_view x, const Wide *w, bool turns, Wide *sums, double *squares, bool samples,
               dm_columns_found *columns) {
  typedef Held<Element> H;
  extern __shared__ uint4 bytes[];
  Stage<Element, GROUP> *stages = reinterpret_cast<Stage<Element, GROUP> *>(bytes);
  constexpr bool SHORT = sizeof(Element) == 2;
  typedef std::conditional_t<SHORT, RowOfT<float, float>, RowOfT<Wide, double>> Sum;
  __shared__ Meeting<GROUP, H::ROWS, Sum> meeting;
  const int groups = THREADS / GROUP, group = threadIdx.x / GROUP, at = threadIdx.x % GROUP;
  const int64_t step = (int64_t)gridDim.x * groups * H::ROWS;
  const int64_t begin = ((int64_t)blockIdx.x * groups + group) * H::ROWS;
  std::conditional_t<SHORT, ScaledColumns<Element>, Columns<Element, Wide>> c = {};
  FoundInT found = {0.0, false};
  Mask mask[H::RUNS];
  int count[H::RUNS];
#pragma unroll
  for (int u = 0; u < H::RUNS; u++) {
    const int64_t col = (int64_t)(u * GROUP + at) * H::LENGTH;
    double own[H::LENGTH];
#pragma unroll
    for (int v = 0; v < H::LENGTH; v++) {
      own[v] = col + v < x.cols ? real_part(w[col + v]) : 0.0;
      c.weigh(u * H::LENGTH + v, own[v]);
    }
    mask[u] = mask_of<Element>(own);
    count[u] = (int)(col + H::LENGTH <= x.cols ? 16
                     : col < x.cols            ? (x.cols - col) * (int64_t)sizeof(Element)
                                               : 0);
  }
#pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++)
    copy_rows<Element, GROUP>(x, begin + stage * step, count, &stages[stage]);
  int turn = 0;
  int now = 0, free = STAGES - 1;
  for (int64_t first = begin; first - group * H::ROWS < x.rows; first += step, turn ^= 1) {
    copy_rows<Element, GROUP>(x, first + (STAGES - 1) * step, count, &stages[free]);
    wait_for_copies<STAGES - 1>();
    add_rows<Element, GROUP>(stages[now], mask, x.rows - first, turns, turn, meeting, &c, &found);
    free = now;
    now = now + 1 < STAGES ? now + 1 : 0;
  }
  wait_for_copies<0>(); /* of rows beyond X: their memory serves for columns now */
  tell(found, samples, columns);
  c.finish();
  write_columns<Element, GROUP>(c.y, bytes, x.cols, sums + blockIdx.x * x.cols);
  write_columns<Element, GROUP>(c.squares, bytes, x.cols, squares + blockIdx.x * x.cols);
}

/* ---- launching ---- */

constexpr int MOST_GROUP = 512;
constexpr int64_t LEAST_SHORT = 1024; /* rows of 16-bit elements: see ScaledColumns */

/* Calls FUNCTION with the least group whose threads hold all columns of X. */
template <class Element, class Function> auto with_group(dm_view x, Function function) {
  const int64_t threads = (x.cols + Held<Element>::COLS - 1) / Held<Element>::COLS;
  return threads <= 8     ? function(std::integral_constant<int, 8>())
         : threads <= 16  ? function(std::integral_constant<int, 16>())
         : threads <= 32  ? function(std::integral_constant<int, 32>())
         : threads <= 128 ? function(std::integral_constant<int, 128>())
         : threads <= 256 ? function(std::integral_constant<int, 256>())
                          : function(std::integral_constant<int, MOST_GROUP>());
}

template <class Element> int64_t blocks_of(dm_view x, int processors) {
  return with_group<Element>(x, [&](auto group) {
    const int64_t at_once = THREADS / group() * Held<Element>::ROWS;
    const int64_t blocks = (x.rows + at_once - 1) / at_once;
    return blocks < processors ? blocks : processors;
  });
}

template <class Element, int GROUP>
constexpr int BYTES = STAGES *(int)sizeof(Stage<Element, GROUP>);

/* Whether the current device has enough shared memory. */
template <class Element> bool has_room(dm_view x) {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return false;
  return with_group<Element>(x, [&](auto group) { return BYTES<Element, group()> <= most; });
}

/* Calls FUNCTION with a value of the type, if it is a real or complex one. */
template <class Function> cudaError_t with_number(dm_dtype dtype, Function function) {
  return with_one_of<double, float, __half, __nv_bfloat16, Complex64, Complex128>(dtype, function);
}

} // namespace

int64_t dm_kernels_probe_gram_parts(dm_view x, int processors) {
  int64_t parts = 0;
  (void)with_number(x.dtype, [&](auto element) {
    typedef decltype(element) Element;
    const int64_t least = sizeof(Element) == 2 ? LEAST_SHORT : 1;
    if (x.rows >= least && x.cols > 0 && x.cols <= MOST_GROUP * Held<Element>::COLS &&
        rows_are_wide(x, sizeof(Element)) && has_room<Element>(x))
      parts = blocks_of<Element>(x, processors);
    return cudaSuccess;
  });
  return parts;
}

cudaError_t dm_kernels_probe_gram(const dm_judge_work *work, dm_view x, double *sums,
                                  double *squares) {
  const dm_part_sums &of = work->a;
  double *of_parts = static_cast<double *>(const_cast<void *>(of.sums));
  double *squares_of_parts = const_cast<double *>(of.squares);
  cudaError_t error = with_number(x.dtype, [&](auto element) {
    typedef decltype(element) Element;
    typedef typename WideOf<Element>::Type Wide;
    return with_group<Element>(x, [&](auto group) {
      constexpr int bytes = BYTES<Element, group()>;
      const auto kernel = probe_gram<Element, group(), Wide>;
      const cudaError_t refused =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      if (refused != cudaSuccess) return refused;
      kernel<<<(unsigned)of.parts, THREADS, bytes, work->stream>>>(
          x, reinterpret_cast<const Wide *>(work->w), work->turns_t,
          reinterpret_cast<Wide *>(of_parts), squares_of_parts, work->step > 1, work->columns);
      return cudaGetLastError();
    });
  });
  if (!sums) return error;
  if (error == cudaSuccess)
    error = launch_fold(sums, of_parts, work->width * x.cols, of.parts, work->stream);
  if (error == cudaSuccess)
    error = launch_fold(squares, squares_of_parts, x.cols, of.parts, work->stream);
  return error;
}
