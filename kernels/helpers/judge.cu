/* judge: the short vectors of the verification of a whole product, which never leave the GPU: the
 * weights of the columns, B w, and the comparison of all rows.
 *
 * Each number is a sum over parts.  One thread adds few of them; of many, LANES threads do. */
#include <type_traits>

#include "kernels/helpers/judge.cuh"

namespace {

constexpr int LANES = 32, MANY = 16; /* parts */

/* Number I of COUNT per part, summed over the parts, in the same order each time. */
template <int OF, class T>
__device__ __forceinline__ T total(const void *values, int64_t i, int64_t count, int64_t parts) {
  const T *of = static_cast<const T *>(values) + i;
  const int64_t first = threadIdx.x % OF;
  T sum = first < parts ? of[first * count] : T();
#pragma unroll(OF == 1 ? 4 : 8)
  for (int64_t p = first + OF; p < parts; p += OF) sum += of[p * count];
#pragma unroll
  for (int distance = OF / 2; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(~0u, sum, distance);
  return sum;
}

/* The numbers of a thread, or of OF threads: from this one on, at such a distance. */
template <int OF> __device__ __forceinline__ int64_t first_number() {
  return ((int64_t)blockIdx.x * JUDGES + threadIdx.x) / OF;
}
template <int OF> __device__ __forceinline__ int64_t next_number() {
  return (int64_t)gridDim.x * JUDGES / OF;
}
template <int OF> __device__ __forceinline__ bool is_first_lane() {
  return threadIdx.x % OF == 0;
}

template <int OF> __global__ void __launch_bounds__(JUDGES) weigh(dm_judge_work k) {
  dm_columns_found found = {};
  for (int64_t j = first_number<OF>(); j < k.cols; j += next_number<OF>()) {
    if (k.exact) {
      reinterpret_cast<uint64_t *>(k.w)[j] = exact_weight_of(k.seed, j);
      k.sizes_w[j] = 1.0;
      continue;
    }
    const double square =
        total<OF, double>(k.columns_of_b.squares, j, k.cols, k.columns_of_b.parts) * (double)k.step;
    if (!is_first_lane<OF>()) continue;
    const double w = weight_of(k.seed, j, square, k.step > 1, &found);
    k.w[j * k.width] = w;
    if (k.width == 2) k.w[j * 2 + 1] = 0.0;
    k.sizes_w[j] = fabs(w);
  }
  found = join_threads(found, dm_columns_join);
  if (threadIdx.x == 0) k.columns[blockIdx.x] = found;
}

/* Returns the square of the size. */
template <int OF> __device__ double take_one(const dm_judge_work &k, int64_t i) {
  const int64_t at = i / k.entry_depth * k.t_step + i % k.entry_depth, parts = k.b.parts;
  if (k.exact) {
    reinterpret_cast<uint64_t *>(k.t)[at] = total<OF, uint64_t>(k.b.sums, i, k.depth, parts);
    k.sizes_t[at] = 1.0;
    return 0.0;
  }
  const double square = total<OF, double>(k.b.squares, i, k.depth, parts);
  bool is_zero = true, strained;
  for (int x = 0; x < k.width; x++) {
    const double t = total<OF, double>(k.b.sums, i * k.width + x, k.depth * k.width, parts);
    is_zero &= t == 0.0;
    k.t[at * k.width + x] = x == 1 && k.turns_t ? -t : t;
  }
  k.sizes_t[at] = size_of_t(square, is_zero, &strained);
  if (strained) k.columns->strained = 1;
  return is_first_lane<OF>() ? square : 0.0;
}

template <int OF> __global__ void __launch_bounds__(JUDGES) take_t(dm_judge_work k) {
  double square = 0.0;
  for (int64_t i = first_number<OF>(); i < k.depth; i += next_number<OF>())
    square += take_one<OF>(k, i);
  if (k.step == 1) return;
  square = join_threads(square, [](double *sum, const double *more) { *sum += *more; });
  if (threadIdx.x == 0) atomicAdd(&k.columns->spread, square);
}

/* What rows hold. Code for one of them is a third of that for all. */
enum Kind { REAL, COMPLEX, EXACT };

template <int OF, Kind KIND>
__device__ __forceinline__ void load(double (&to)[2], const dm_judge_work &k, const dm_part_sums &s,
                                     int64_t row) {
  constexpr int WIDTH = KIND == COMPLEX ? 2 : 1;
  to[0] = total<OF, double>(s.sums, row * WIDTH, k.rows * WIDTH, s.parts);
  if (WIDTH == 2) to[1] = total<OF, double>(s.sums, row * 2 + 1, k.rows * 2, s.parts);
}

template <int OF, Kind KIND>
__device__ __forceinline__ dm_rows_found compare(const dm_judge_work &k, int64_t i,
                                                 const RowLimits &limits) {
  dm_row_sums s = {};
  load<OF, KIND>(s.y, k, k.a, i);
  load<OF, KIND>(s.z, k, k.c, i);
  if (k.turns_y) s.y[1] = -s.y[1];
  s.a_squares = total<OF, double>(k.a.squares, i, k.rows, k.a.parts);
  s.z_squares = total<OF, double>(k.c.squares, i, k.rows, k.c.parts);
  if (k.factors.reads_c) {
    load<OF, KIND>(s.z0, k, k.old, i);
    s.z0_squares = total<OF, double>(k.old.squares, i, k.rows, k.old.parts);
  }
  return found_in_row<KIND == REAL>(&k.factors, s, i, limits);
}

template <int OF>
__device__ __forceinline__ dm_rows_found compare_exactly(const dm_judge_work &k, int64_t i) {
  const uint64_t y = total<OF, uint64_t>(k.a.sums, i, k.rows, k.a.parts);
  const uint64_t z = total<OF, uint64_t>(k.c.sums, i, k.rows, k.c.parts);
  uint64_t expected = (uint64_t)(int64_t)k.factors.alpha[0] * y;
  if (k.factors.reads_c)
    expected += (uint64_t)(int64_t)k.factors.beta[0] *
                total<OF, uint64_t>(k.old.sums, i, k.rows, k.old.parts);
  return found_exactly(z, expected, i);
}

template <int OF, Kind KIND>
__global__ void __launch_bounds__(JUDGES, KIND == COMPLEX ? 2 : 4)
    judge(dm_judge_work k, int64_t column_parts) {
  const dm_columns_found columns =
      join_blocks(k.columns, column_parts, dm_columns_found{}, dm_columns_join);
  const RowLimits limits = limits_of(k.factors, columns);
  if (blockIdx.x == 0 && threadIdx.x == 0) k.judged->columns = columns;
  dm_rows_found found = nothing_found();
  for (int64_t i = first_number<OF>(); i < k.rows; i += next_number<OF>()) {
    dm_rows_found one;
    if constexpr (KIND == EXACT)
      one = compare_exactly<OF>(k, i);
    else
      one = compare<OF, KIND>(k, i, limits);
    one.squares = total<OF, double>(k.c.norms, i, k.rows, k.c.parts);
    if (is_first_lane<OF>()) dm_rows_join(&found, &one);
  }
  tell(k, nullptr, join_threads(found, dm_rows_join));
}

template <int OF> auto judge_of(const dm_judge_work *work) {
  return work->exact ? judge<OF, EXACT> : work->width == 2 ? judge<OF, COMPLEX> : judge<OF, REAL>;
}

int64_t lanes_for(int64_t parts) {
  return parts >= MANY ? LANES : 1;
}

unsigned blocks_of_numbers(int64_t count, int64_t lanes) {
  const int64_t at_once = JUDGES / lanes, blocks = (count + at_once - 1) / at_once;
  return (unsigned)(blocks < DM_JUDGED_PARTS ? blocks : DM_JUDGED_PARTS);
}

/* Launches what KERNEL returns for so many lanes, on blocks for COUNT numbers. */
template <class Kernel, class... More>
cudaError_t launch(const dm_judge_work *work, int64_t parts, int64_t count, Kernel kernel,
                   More... more) {
  const int64_t lanes = lanes_for(parts);
  const auto chosen = lanes == 1 ? kernel(std::integral_constant<int, 1>())
                                 : kernel(std::integral_constant<int, LANES>());
  chosen<<<blocks_of_numbers(count, lanes), JUDGES, 0, work->stream>>>(*work, more...);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_weigh(const dm_judge_work *work) {
  return launch(work, work->columns_of_b.parts, work->cols,
                [](auto lanes) { return weigh<lanes()>; });
}

cudaError_t dm_kernels_take_t(const dm_judge_work *work) {
  return launch(work, work->b.parts, work->depth, [](auto lanes) { return take_t<lanes()>; });
}

cudaError_t dm_kernels_judge(const dm_judge_work *work) {
  const int64_t columns = blocks_of_numbers(work->cols, lanes_for(work->columns_of_b.parts));
  const int64_t parts = work->a.parts > work->c.parts ? work->a.parts : work->c.parts;
  return launch(
      work, parts, work->rows, [&](auto lanes) { return judge_of<lanes()>(work); }, columns);
}

int64_t dm_kernels_judge_parts(int64_t count) {
  return blocks_of_numbers(count, LANES); /* at most */
}
