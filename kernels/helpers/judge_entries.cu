/* judge_entries: verifies products of small matrices after they are multiplied, in one launch.  One
 * warp reads A, B and C of an entry, or, if there are few entries, all warps of a block do: eight
 * rows at once, whose sums the lanes share.  By probes and scans, which serve large matrices, an
 * entry of 64 x 64 costs eight launches. */
#include <type_traits>

#include "kernels/helpers/judge.cuh"

namespace {

constexpr int LANES = 32, ALL_WARPS = JUDGES / LANES;
constexpr int ROWS = 8, LANES_OF_ROW = LANES / ROWS; /* of a warp at once */

/* A matrix of one entry. */
template <class Element> struct Part {
  const Element *base;
  int rows, cols;
  int64_t row_stride, col_stride;
};

template <class Element>
__device__ Part<Element> part_of(const dm_view &m, int64_t entry, int64_t entries) {
  const int64_t rows = m.rows / entries;
  return {static_cast<const Element *>(m.base) + entry * rows * m.row_stride, (int)rows,
          (int)m.cols, m.row_stride, m.col_stride};
}

/* ---- sums of eight rows ---- */

template <class Wide> struct RowSums {
  Wide sum;
  double square;
};

template <class Wide>
__device__ __forceinline__ void add_sums(RowSums<Wide> *sums, const RowSums<Wide> &more) {
  sums->sum = plus(sums->sum, more.sum);
  sums->square += more.square;
}

template <class Wide>
__device__ __forceinline__ RowSums<Wide> of_lane(const RowSums<Wide> &v, int distance) {
  return {found_of_lane(v.sum, distance), __shfl_xor_sync(~0u, v.square, distance)};
}

/* FIRST or SECOND, without a branch. */
__device__ __forceinline__ double chosen(bool is_first, double first, double second) {
  return is_first ? first : second;
}
__device__ __forceinline__ int64_t chosen(bool is_first, int64_t first, int64_t second) {
  return is_first ? first : second;
}
__device__ __forceinline__ Complex128 chosen(bool is_first, Complex128 first, Complex128 second) {
  return {chosen(is_first, first.re, second.re), chosen(is_first, first.im, second.im)};
}
template <class Wide>
__device__ __forceinline__ RowSums<Wide> chosen(bool is_first, const RowSums<Wide> &first,
                                                const RowSums<Wide> &second) {
  return {chosen(is_first, first.sum, second.sum), chosen(is_first, first.square, second.square)};
}

/* Columns of size 0 do not count, for they may have NaN. */
template <class Wide>
__device__ __forceinline__ void add_element(RowSums<Wide> *sums, Wide m, Wide x, double size) {
  if (size == 0.0) return;
  sums->sum = mad(m, x, sums->sum);
  sums->square = add_sized(m, size, sums->square);
}

/* The sums of the lanes of row r, for r = lane / LANES_OF_ROW: at each step a lane passes on half
 * of its rows and keeps the others. */
template <class Wide>
__device__ __forceinline__ RowSums<Wide> sum_of_lanes(RowSums<Wide> (&v)[ROWS]) {
  int distance = LANES / 2;
#pragma unroll
  for (int half = ROWS / 2; half > 0; half /= 2, distance /= 2) {
    const bool upper = threadIdx.x & distance;
#pragma unroll
    for (int r = 0; r < half; r++) {
      const RowSums<Wide> passed = of_lane(chosen(upper, v[r], v[r + half]), distance);
      v[r] = chosen(upper, v[r + half], v[r]);
      add_sums(&v[r], passed);
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2) add_sums(&v[0], of_lane(v[0], distance));
  return v[0];
}

/* The sums of row FIRST + lane / LANES_OF_ROW of M with X and SIZE; rows beyond the last repeat it.
 */
template <class Wide, class Element>
__device__ __noinline__ RowSums<Wide> sum_rows(const Part<Element> &m, int first, const Wide *x,
                                               const double *size, double *norm) {
  const int lane = threadIdx.x % LANES, last = m.rows - 1;
  if (m.col_stride == 1) { /* lanes read neighbours of a row */
    RowSums<Wide> own[ROWS] = {};
    const Element *row[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      row[r] = m.base + (first + r < last ? first + r : last) * m.row_stride;
    for (int j = lane; j < m.cols; j += LANES) {
      Element found[ROWS];
#pragma unroll
      for (int r = 0; r < ROWS; r++) found[r] = row[r][j];
      const Wide xj = x[j];
      const double own_size = size[j];
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        const Wide element = widen<Wide>(found[r]);
        add_element(&own[r], element, xj, own_size);
        if (norm && first + r <= last) *norm = mad_square(element, *norm);
      }
    }
    return sum_of_lanes(own);
  }
  RowSums<Wide> own = {};
  const int i = first + lane / LANES_OF_ROW;
  const Element *p = m.base + (i < last ? i : last) * m.row_stride;
#pragma unroll 8
  for (int j = lane % LANES_OF_ROW; j < m.cols; j += LANES_OF_ROW) {
    const Wide element = widen<Wide>(p[j * m.col_stride]);
    add_element(&own, element, x[j], size[j]);
    if (norm && i <= last) *norm = mad_square(element, *norm);
  }
#pragma unroll
  for (int distance = LANES_OF_ROW / 2; distance > 0; distance /= 2)
    add_sums(&own, of_lane(own, distance));
  return own;
}

/* ---- an entry ---- */

/* The warps of an entry, and what they share. */
template <class Wide, int WARPS> struct Room {
  static constexpr int MOST = WARPS == 1 ? DM_ENTRY_SHORT : DM_ENTRY_MOST;
  Wide w[MOST], t[MOST];
  double sizes_w[MOST], sizes_t[MOST];
  double squares[WARPS][MOST]; /* of B's columns, by each warp */
};

template <int WARPS> __device__ __forceinline__ int warp_of_entry() {
  return WARPS == 1 ? 0 : threadIdx.x / LANES;
}

template <int WARPS> __device__ __forceinline__ void wait_for_warps() {
  if (WARPS == 1)
    __syncwarp();
  else
    __syncthreads();
}

/* The squares of columns, whose rows, or else the columns, the warps divide among them. */
template <class Wide, int WARPS, class Element>
__device__ void scan_entry(const Part<Element> &b, Room<Wide, WARPS> *room) {
  const int lane = threadIdx.x % LANES, warp = warp_of_entry<WARPS>();
  if (b.col_stride == 1) {
    for (int j = lane; j < b.cols; j += LANES) {
      double square = 0.0;
#pragma unroll 8
      for (int i = warp; i < b.rows; i += WARPS)
        square = add_seen(widen<Wide>(b.base[i * b.row_stride + j]), square);
      room->squares[warp][j] = square;
    }
    return;
  }
  for (int j = warp; j < b.cols; j += WARPS) {
    double square = 0.0;
    for (int i = lane; i < b.rows; i += LANES)
      square = add_seen(widen<Wide>(b.base[i * b.row_stride + j * b.col_stride]), square);
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2)
      square += __shfl_xor_sync(~0u, square, distance);
    if (lane < WARPS) room->squares[lane][j] = lane == 0 ? square : 0.0;
  }
}

__device__ __forceinline__ void set(double *to, double value) {
  *to = value;
}
__device__ __forceinline__ void set(Complex128 *to, double value) {
  *to = {value, 0.0};
}

template <class Wide, int WARPS, class Element>
__device__ void weigh_entry(const dm_judge_work &k, const Part<Element> &b, Room<Wide, WARPS> *room,
                            dm_columns_found *found) {
  scan_entry<Wide, WARPS>(b, room);
  wait_for_warps<WARPS>();
  for (int j = threadIdx.x % (WARPS * LANES); j < b.cols; j += WARPS * LANES) {
    double square = 0.0;
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) square += room->squares[warp][j];
    const double w = weight_of(k.seed, j, square, false, found);
    set(&room->w[j], w);
    room->sizes_w[j] = fabs(w);
  }
}

template <int WARPS, class Element>
__device__ void weigh_entry(const dm_judge_work &k, const Part<Element> &b,
                            Room<int64_t, WARPS> *room, dm_columns_found *) {
  for (int j = threadIdx.x % (WARPS * LANES); j < b.cols; j += WARPS * LANES) {
    room->w[j] = (int64_t)exact_weight_of(k.seed, j);
    room->sizes_w[j] = 1.0;
  }
}

__device__ __forceinline__ double turned(double v, bool) {
  return v;
}
__device__ __forceinline__ int64_t turned(int64_t v, bool) {
  return v;
}
__device__ __forceinline__ Complex128 turned(Complex128 v, bool turns) {
  return {v.re, turns ? -v.im : v.im};
}

/* Sets w, t and their sizes. */
template <class Wide, int WARPS, class Element>
__device__ dm_columns_found prepare_entry(const dm_judge_work &k, const Part<Element> &b,
                                          Room<Wide, WARPS> *room) {
  const int lane = threadIdx.x % LANES;
  dm_columns_found own = {};
  weigh_entry(k, b, room, &own);
  wait_for_warps<WARPS>();
  for (int first = warp_of_entry<WARPS>() * ROWS; first < b.rows; first += WARPS * ROWS) {
    const RowSums<Wide> sums = sum_rows(b, first, room->w, room->sizes_w, nullptr);
    const int i = first + lane / LANES_OF_ROW;
    if (lane % LANES_OF_ROW != 0 || i >= b.rows) continue;
    bool strained = false;
    room->t[i] = turned(sums.sum, k.turns_t);
    room->sizes_t[i] = k.exact ? 1.0 : size_of_t(sums.square, is_zero(sums.sum), &strained);
    own.strained |= strained;
  }
  wait_for_warps<WARPS>();
  return WARPS == 1 ? join_lanes(own, dm_columns_join) : join_threads(own, dm_columns_join);
}

__device__ __forceinline__ void put(double (&to)[2], double v) {
  to[0] = v;
}
__device__ __forceinline__ void put(double (&to)[2], Complex128 v) {
  to[0] = v.re, to[1] = v.im;
}

/* The sums of a row of A and of C. */
template <class Wide> struct Compared { RowSums<Wide> y, z; };

/* Row I of all entries. */
template <class Wide>
__device__ dm_rows_found compare(const dm_judge_work &k, const Compared<Wide> &row, int64_t i,
                                 const RowLimits &limits) {
  dm_row_sums s = {};
  put(s.y, turned(row.y.sum, k.turns_y));
  put(s.z, row.z.sum);
  s.a_squares = row.y.square;
  s.z_squares = row.z.square;
  return found_in_row<std::is_same<Wide, double>::value>(&k.factors, s, i, limits);
}
__device__ dm_rows_found compare(const dm_judge_work &k, const Compared<int64_t> &row, int64_t i,
                                 const RowLimits &) {
  const uint64_t alpha = (uint64_t)(int64_t)k.factors.alpha[0];
  return found_exactly((uint64_t)row.z.sum, alpha * (uint64_t)row.y.sum, i);
}

/* Compares the rows of C that a warp has, a row by each lane: OF holds the sums of 32. */
template <class Wide, int WARPS, class In, class Out>
__device__ void judge_rows(const dm_judge_work &k, const Part<In> &a, const Part<Out> &c,
                           int64_t first_row, const Room<Wide, WARPS> &room,
                           const RowLimits &limits, Compared<Wide> *of, dm_rows_found *found) {
  const int lane = threadIdx.x % LANES;
  for (int rows = warp_of_entry<WARPS>() * LANES; rows < a.rows; rows += WARPS * LANES) {
    for (int first = rows; first < rows + LANES && first < a.rows; first += ROWS) {
      const RowSums<Wide> y = sum_rows(a, first, room.t, room.sizes_t, nullptr);
      const RowSums<Wide> z = sum_rows(c, first, room.w, room.sizes_w, &found->squares);
      if (lane % LANES_OF_ROW == 0) of[first - rows + lane / LANES_OF_ROW] = {y, z};
    }
    __syncwarp();
    if (rows + lane < a.rows) {
      const dm_rows_found one = compare(k, of[lane], first_row + rows + lane, limits);
      dm_rows_join(found, &one);
    }
    __syncwarp();
  }
}

template <class In, class Out, class Wide, int WARPS>
__global__ void __launch_bounds__(JUDGES, 2)
    judge_entries(dm_judge_work k, dm_view a, dm_view b, dm_view c, int64_t entries) {
  constexpr int AT_ONCE = ALL_WARPS / WARPS; /* entries of a block */
  __shared__ Room<Wide, WARPS> rooms[AT_ONCE];
  __shared__ Compared<Wide> compared[ALL_WARPS][LANES];
  const int warp = threadIdx.x / LANES, place = warp / WARPS;
  dm_columns_found columns = {};
  dm_rows_found rows = nothing_found();
  for (int64_t e = (int64_t)blockIdx.x * AT_ONCE + place; e < entries; e += gridDim.x * AT_ONCE) {
    const Part<In> of_a = part_of<In>(a, e, entries);
    const dm_columns_found found =
        prepare_entry<Wide, WARPS>(k, part_of<In>(b, e, entries), &rooms[place]);
    if (threadIdx.x % (WARPS * LANES) == 0) dm_columns_join(&columns, &found);
    judge_rows<Wide, WARPS>(k, of_a, part_of<Out>(c, e, entries), e * of_a.rows, rooms[place],
                            limits_of(k.factors, found), compared[warp], &rows);
    wait_for_warps<WARPS>(); /* before the next entry's vectors */
  }
  columns = join_threads(columns, dm_columns_join);
  tell(k, &columns, join_threads(rows, dm_rows_join));
}

template <class In, class Out>
cudaError_t launch(const dm_judge_work *work, dm_view a, dm_view b, dm_view c, int64_t entries,
                   int processors) {
  typedef typename WideOf<In>::Type Wide;
  const bool many =
      entries >= 2 * processors && a.cols <= DM_ENTRY_SHORT && b.cols <= DM_ENTRY_SHORT;
  const int64_t wanted = many ? (entries + ALL_WARPS - 1) / ALL_WARPS : entries;
  const int64_t most = 2 * processors < DM_JUDGED_PARTS ? 2 * processors : DM_JUDGED_PARTS;
  const auto kernel =
      many ? judge_entries<In, Out, Wide, 1> : judge_entries<In, Out, Wide, ALL_WARPS>;
  kernel<<<(unsigned)(wanted < most ? wanted : most), JUDGES, 0, work->stream>>>(*work, a, b, c,
                                                                                 entries);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_judge_entries(const dm_judge_work *work, dm_view a, dm_view b, dm_view c,
                                     int64_t entries, int processors) {
  return with_type(a.dtype, [&](auto in) {
    typedef decltype(in) In;
    if (c.dtype == a.dtype) return launch<In, In>(work, a, b, c, entries, processors);
    if constexpr (sizeof(In) == 2)
      return launch<In, float>(work, a, b, c, entries, processors);
    else if constexpr (sizeof(In) == 1)
      return launch<In, int32_t>(work, a, b, c, entries, processors);
    else
      return cudaErrorInvalidValue;
  });
}
