/* judge_entries: verifies products of small matrices after they are multiplied, in one launch: a
 * block reads A, B and C of an entry, each a few rows at a time by way of shared memory.  By probes
 * and scans, which serve large matrices, an entry of 64 x 64 costs eight launches. */
#include "kernels/helpers/judge.cuh"

namespace {

constexpr int LANES = 32;
constexpr int CHUNK_BYTES = 34 << 10; /* of rows in shared memory */
constexpr int ROWS = 64;              /* compared at once */
constexpr int BLOCKS_PER_PROCESSOR = 3;

/* The smallest power of two that is not below COUNT, at most MOST. */
__device__ __forceinline__ int power_of(int count, int most) {
  int power = 1;
  while (power < count && power < most) power *= 2;
  return power;
}

/* A matrix of one entry; COLS at most DM_ENTRY_MOST. */
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

/* Brings COUNT rows from FIRST on, widened, to ROWS, whose strides are odd.  Each thread has
 * several loads under way at once. */
template <class Wide, class Element>
__device__ __forceinline__ void bring(Wide *rows, const Part<Element> &m, int first, int count) {
  const bool by_rows = m.col_stride == 1;
  const int64_t next_line = by_rows ? m.row_stride : m.col_stride;
  const int64_t next = by_rows ? m.col_stride : m.row_stride;
  const int stride = m.cols | 1, to_line = by_rows ? stride : 1, to_next = by_rows ? 1 : stride;
  const int lines = by_rows ? count : m.cols, length = by_rows ? m.cols : count;
  const int width = power_of(length, LANES), step = JUDGES / width;
  constexpr int AT_ONCE = sizeof(Element) > 8 ? 4 : 8;
  const Element *p = m.base + first * m.row_stride;
  for (int x = threadIdx.x % width; x < length; x += width)
    for (int line = threadIdx.x / width; line < lines; line += AT_ONCE * step) {
      Element found[AT_ONCE];
#pragma unroll
      for (int l = 0; l < AT_ONCE; l++)
        if (line + l * step < lines) found[l] = p[(line + l * step) * next_line + x * next];
#pragma unroll
      for (int l = 0; l < AT_ONCE; l++)
        if (line + l * step < lines)
          rows[(line + l * step) * to_line + x * to_next] = widen<Wide>(found[l]);
    }
}

/* Calls USE(first, count, rows) for some rows of M after others, in shared memory.  THERE: all are,
 * if they fit. */
template <class Wide, class Element, class Use>
__device__ __forceinline__ void for_rows(Wide *room, const Part<Element> &m, bool there, Use use) {
  const int most = CHUNK_BYTES / (int)sizeof(Wide) / (m.cols | 1);
  for (int first = 0; first < m.rows; first += most) {
    const int count = m.rows - first < most ? m.rows - first : most;
    __syncthreads();
    if (!there || m.rows > most) bring(room, m, first, count);
    __syncthreads();
    use(first, count, room);
  }
}

__device__ __forceinline__ double of_lane(double v, int distance) {
  return __shfl_xor_sync(~0u, v, distance);
}
__device__ __forceinline__ int64_t of_lane(int64_t v, int distance) {
  return __shfl_xor_sync(~0u, (long long)v, distance);
}
__device__ __forceinline__ Complex128 of_lane(Complex128 v, int distance) {
  return {of_lane(v.re, distance), of_lane(v.im, distance)};
}
__device__ __forceinline__ double plus(double a, double b) {
  return a + b;
}
__device__ __forceinline__ int64_t plus(int64_t a, int64_t b) { /* wraps */
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
__device__ __forceinline__ Complex128 plus(Complex128 a, Complex128 b) {
  return {a.re + b.re, a.im + b.im};
}

__device__ __forceinline__ double square_of(double m, double size, double sum) {
  return mad_square(m * size, sum);
}
__device__ __forceinline__ double square_of(Complex128 m, double size, double sum) {
  return mad_square(Complex128{m.re * size, m.im * size}, sum);
}
__device__ __forceinline__ double square_of(int64_t, double, double sum) {
  return sum;
}

template <class Wide> struct RowSums {
  Wide sum;
  double square, norm;
};

/* The sums of COUNT rows with X and SIZE: TAKE(row, sums) in one thread for each row.  Columns of
 * size 0 do not count, for they may have NaN, but do in norms. */
template <class Wide, class Take>
__device__ __forceinline__ void sum_rows(const Wide *rows, int count, int cols, const Wide *x,
                                         const double *size, Take take) {
  const int stride = cols | 1;
  const int lanes =
      JUDGES / power_of(count, JUDGES) < LANES ? JUDGES / power_of(count, JUDGES) : LANES;
  const int lane = threadIdx.x % lanes, at_once = JUDGES / lanes;
  for (int first = 0; first < count; first += at_once) { /* all threads take all turns */
    const int i = first + threadIdx.x / lanes;
    RowSums<Wide> own = {};
    for (int j = lane; j < cols && i < count; j += lanes) {
      const Wide m = rows[i * stride + j];
      own.norm = mad_square(m, own.norm);
      if (size[j] == 0.0) continue;
      own.sum = mad(m, x[j], own.sum);
      own.square = square_of(m, size[j], own.square);
    }
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      own.sum = plus(own.sum, of_lane(own.sum, distance));
      own.square += of_lane(own.square, distance);
      own.norm += of_lane(own.norm, distance);
    }
    if (lane == 0 && i < count) take(i, own);
  }
}

/* The vectors of an entry, in shared memory. */
template <class Wide> struct Vectors {
  Wide w[DM_ENTRY_MOST], t[DM_ENTRY_MOST];
  double sizes_w[DM_ENTRY_MOST], sizes_t[DM_ENTRY_MOST];
};

__device__ __forceinline__ void set(double *to, double value) {
  *to = value;
}
__device__ __forceinline__ void set(Complex128 *to, double value) {
  *to = {value, 0.0};
}

/* Sets w from the squares of B's columns, which threads side by side sum. */
template <class Wide, class Element>
__device__ void weigh_entry(const dm_judge_work &k, const Part<Element> &b, Wide *room,
                            Vectors<Wide> *v, dm_columns_found *found) {
  __shared__ double squares[JUDGES];
  const int width = power_of(b.cols, JUDGES), lines = JUDGES / width, stride = b.cols | 1;
  const int j = threadIdx.x % width, line = threadIdx.x / width;
  double square = 0.0;
  for_rows(room, b, false, [&](int, int count, const Wide *rows) {
    for (int i = line; i < count && j < b.cols; i += lines)
      square = add_seen(rows[i * stride + j], square);
  });
  squares[threadIdx.x] = square;
  __syncthreads();
  if (line > 0 || j >= b.cols) return;
  for (int l = 1; l < lines; l++) square += squares[l * width + j];
  const double w = weight_of(k.seed, j, square, false, found);
  set(&v->w[j], w);
  v->sizes_w[j] = fabs(w);
}

template <class Element>
__device__ void weigh_entry(const dm_judge_work &k, const Part<Element> &b, int64_t *,
                            Vectors<int64_t> *v, dm_columns_found *) {
  const int j = threadIdx.x;
  if (j >= b.cols) return;
  v->w[j] = (int64_t)exact_weight_of(k.seed, j);
  v->sizes_w[j] = 1.0;
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

__device__ __forceinline__ void put(double (&to)[2], double v) {
  to[0] = v;
}
__device__ __forceinline__ void put(double (&to)[2], Complex128 v) {
  to[0] = v.re, to[1] = v.im;
}

/* Row I of all entries. */
template <class Wide>
__device__ dm_rows_found compare(const dm_judge_work &k, const RowSums<Wide> &y,
                                 const RowSums<Wide> &z, int64_t i,
                                 const dm_columns_found &columns) {
  dm_row_sums s = {};
  put(s.y, turned(y.sum, k.turns_y));
  put(s.z, z.sum);
  s.a_squares = y.square;
  s.z_squares = z.square;
  return found_in_row(&k.factors, s, i, columns);
}
__device__ dm_rows_found compare(const dm_judge_work &k, const RowSums<int64_t> &y,
                                 const RowSums<int64_t> &z, int64_t i, const dm_columns_found &) {
  const uint64_t alpha = (uint64_t)(int64_t)k.factors.alpha[0];
  return found_exactly((uint64_t)z.sum, alpha * (uint64_t)y.sum, i);
}

template <class Element>
__device__ Part<Element> rows_of(const Part<Element> &m, int first, int count) {
  return {m.base + first * m.row_stride, count, m.cols, m.row_stride, m.col_stride};
}

/* Sets w, t and their sizes. */
template <class Wide, class Element>
__device__ dm_columns_found prepare_entry(const dm_judge_work &k, const Part<Element> &b,
                                          Wide *room, Vectors<Wide> *v) {
  dm_columns_found own = {};
  weigh_entry(k, b, room, v, &own);
  for_rows(room, b, !k.exact, [&](int first, int count, const Wide *of) {
    sum_rows(of, count, b.cols, v->w, v->sizes_w, [&](int i, const RowSums<Wide> &sums) {
      bool strained = false;
      v->t[first + i] = turned(sums.sum, k.turns_t);
      v->sizes_t[first + i] = k.exact ? 1.0 : size_of_t(sums.square, is_zero(sums.sum), &strained);
      own.strained |= strained;
    });
  });
  return join_threads(own, dm_columns_join);
}

/* Rows of A and C, which are in shared memory one after the other: their sums wait there, too. */
template <class Wide, class In, class Out>
__device__ void judge_rows(const dm_judge_work &k, const Part<In> &a, const Part<Out> &c,
                           int64_t first_row, Wide *room, const Vectors<Wide> &v,
                           const dm_columns_found &columns, dm_rows_found *found) {
  __shared__ RowSums<Wide> of_a[ROWS], of_c[ROWS];
  for_rows(room, a, false, [&](int first, int count, const Wide *of) {
    sum_rows(of, count, a.cols, v.t, v.sizes_t,
             [&](int i, const RowSums<Wide> &sums) { of_a[first + i] = sums; });
  });
  for_rows(room, c, false, [&](int first, int count, const Wide *of) {
    sum_rows(of, count, c.cols, v.w, v.sizes_w,
             [&](int i, const RowSums<Wide> &sums) { of_c[first + i] = sums; });
  });
  __syncthreads();
  const int i = threadIdx.x;
  if (i >= a.rows) return;
  dm_rows_found one = compare(k, of_a[i], of_c[i], first_row + i, columns);
  one.squares = of_c[i].norm;
  dm_rows_join(found, &one);
}

template <class In, class Out, class Wide>
__global__ void __launch_bounds__(JUDGES, BLOCKS_PER_PROCESSOR)
    judge_entries(dm_judge_work k, dm_view a, dm_view b, dm_view c, int64_t entries) {
  extern __shared__ double memory[];
  __shared__ Vectors<Wide> vectors;
  Wide *room = reinterpret_cast<Wide *>(memory);
  dm_columns_found columns = {};
  dm_rows_found rows = nothing_found();
  for (int64_t e = blockIdx.x; e < entries; e += gridDim.x) {
    const Part<In> of_a = part_of<In>(a, e, entries), of_b = part_of<In>(b, e, entries);
    const Part<Out> of_c = part_of<Out>(c, e, entries);
    const dm_columns_found found = prepare_entry(k, of_b, room, &vectors);
    dm_columns_join(&columns, &found);
    for (int first = 0; first < of_a.rows; first += ROWS) {
      const int count = of_a.rows - first < ROWS ? of_a.rows - first : ROWS;
      judge_rows(k, rows_of(of_a, first, count), rows_of(of_c, first, count), e * of_a.rows + first,
                 room, vectors, found, &rows);
    }
    __syncthreads(); /* before the next entry's vectors */
  }
  tell(k, &columns, join_threads(rows, dm_rows_join));
}

template <class In, class Out>
cudaError_t launch(const dm_judge_work *work, dm_view a, dm_view b, dm_view c, int64_t entries,
                   int processors) {
  typedef typename WideOf<In>::Type Wide;
  const int64_t most = (int64_t)processors * BLOCKS_PER_PROCESSOR;
  int64_t blocks = entries < most ? entries : most;
  if (blocks > DM_JUDGED_PARTS) blocks = DM_JUDGED_PARTS;
  judge_entries<In, Out, Wide>
      <<<(unsigned)blocks, JUDGES, CHUNK_BYTES, work->stream>>>(*work, a, b, c, entries);
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
