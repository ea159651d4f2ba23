/* judge: the short vectors of the verification of a whole product, which never leave the GPU: the
 * weights of the columns, B w, and the comparison of all rows. */
#include "kernels/verify_kernels.h"

namespace {

constexpr int THREADS = 256;

/* Number I of COUNT per part, summed over the parts in ascending order. */
template <class T>
__device__ __forceinline__ T total(const void *values, int64_t i, int64_t count, int64_t parts) {
  const T *of = static_cast<const T *>(values) + i;
  T sum = *of;
#pragma unroll 8
  for (int64_t p = 1; p < parts; p++) sum += of[p * count];
  return sum;
}

/* JOIN adds all threads' values; the sum of all is OF[0]. */
template <class Found, class Join>
__device__ __forceinline__ void join_threads(Found (&of)[THREADS], const Found &found, Join join) {
  of[threadIdx.x] = found;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) join(&of[threadIdx.x], &of[threadIdx.x + half]);
  }
  __syncthreads();
}

__device__ void weigh_column(const dm_judge_work &k, int64_t j, dm_columns_found *found) {
  const double square =
      total<double>(k.columns_of_b.squares, j, k.cols, k.columns_of_b.parts) * (double)k.step;
  const double norm = sqrt(square), factor = dm_row_weight(k.seed, j);
  dm_columns_found own = {};
  double w = factor;
  if (!isfinite(norm)) {
    w = 0.0;
    own.left_out = own.strained = 1;
  } else if (square > DM_LEAST_SQUARES) {
    w = factor / norm;
  } else if (norm > 0.0 ||
             k.step > 1) { /* nearly zero; this and a column of zeros keep their weight */
    own.strained = 1;
  }
  k.w[j * k.width] = w;
  if (k.width == 2) k.w[j * 2 + 1] = 0.0;
  k.sizes_w[j] = fabs(w);
  own.squares = w * w;
  if (w != 0.0 && square > 0.0) own.column = 1.0 / fabs(w);
  dm_columns_join(found, &own);
}

/* Weights of integers are 64 random bits. */
__device__ void weigh_exactly(const dm_judge_work &k, int64_t j) {
  reinterpret_cast<uint64_t *>(k.w)[j] = dm_random_bits(k.seed, 0, j, 0) | 1u;
  k.sizes_w[j] = 1.0;
}

__global__ void __launch_bounds__(THREADS) weigh(dm_judge_work k) {
  __shared__ dm_columns_found of[THREADS];
  dm_columns_found found = {};
  for (int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x; j < k.cols;
       j += (int64_t)gridDim.x * THREADS)
    if (k.exact)
      weigh_exactly(k, j);
    else
      weigh_column(k, j, &found);
  join_threads(of, found, dm_columns_join);
  if (threadIdx.x == 0) k.columns[blockIdx.x] = of[0];
}

/* Sizes are at least 2^-1000: a probe skips columns with size 0, but must see NaN in A.  Returns
 * the square of the size. */
__device__ double take_one(const dm_judge_work &k, int64_t i) {
  const int64_t at = i / k.entry_depth * k.t_step + i % k.entry_depth, parts = k.b.parts;
  if (k.exact) {
    reinterpret_cast<uint64_t *>(k.t)[at] = total<uint64_t>(k.b.sums, i, k.depth, parts);
    k.sizes_t[at] = 1.0;
    return 0.0;
  }
  const double square = total<double>(k.b.squares, i, k.depth, parts);
  bool is_zero = true;
  for (int x = 0; x < k.width; x++) {
    const double t = total<double>(k.b.sums, i * k.width + x, k.depth * k.width, parts);
    is_zero &= t == 0.0;
    k.t[at * k.width + x] = x == 1 && k.turns_t ? -t : t;
  }
  if (!isfinite(square) || (square < DM_LEAST_SQUARES && !is_zero)) k.columns->strained = 1;
  k.sizes_t[at] = fmax(sqrt(square), 0x1p-1000);
  return square;
}

__global__ void __launch_bounds__(THREADS) take_t(dm_judge_work k) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  double square = i < k.depth ? take_one(k, i) : 0.0;
  if (k.step == 1) return;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    square += __shfl_xor_sync(~0u, square, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(&k.columns->spread, square);
}

__device__ void load(double (&to)[2], const dm_judge_work &k, const dm_part_sums &s, int64_t row) {
  to[1] = 0.0;
  for (int x = 0; x < k.width; x++)
    to[x] = total<double>(s.sums, row * k.width + x, k.rows * k.width, s.parts);
}

__device__ dm_rows_found compare(const dm_judge_work &k, int64_t i, double subnormal,
                                 double limit) {
  dm_row_sums s = {};
  load(s.y, k, k.a, i);
  load(s.z, k, k.c, i);
  if (k.turns_y) s.y[1] = -s.y[1];
  s.a_squares = total<double>(k.a.squares, i, k.rows, k.a.parts);
  s.z_squares = total<double>(k.c.squares, i, k.rows, k.c.parts);
  if (k.factors.reads_c) {
    load(s.z0, k, k.old, i);
    s.z0_squares = total<double>(k.old.squares, i, k.rows, k.old.parts);
  }
  const dm_row_found row = dm_row_compare(&k.factors, &s, subnormal, limit);
  dm_rows_found found = {row.ratio,   row.relative, 0.0, row.checked && row.ratio > 0.0 ? i : -1,
                         row.checked, row.strained, {}};
  dm_row_bias_add(&found.bias, &k.factors, &s);
  return found;
}

__device__ dm_rows_found compare_exactly(const dm_judge_work &k, int64_t i) {
  const uint64_t y = total<uint64_t>(k.a.sums, i, k.rows, k.a.parts);
  const uint64_t z = total<uint64_t>(k.c.sums, i, k.rows, k.c.parts);
  uint64_t expected = (uint64_t)(int64_t)k.factors.alpha[0] * y;
  if (k.factors.reads_c)
    expected +=
        (uint64_t)(int64_t)k.factors.beta[0] * total<uint64_t>(k.old.sums, i, k.rows, k.old.parts);
  const bool good = z == expected;
  const double residual = good ? 0.0 : (double)INFINITY;
  return {residual, residual, 0.0, good ? -1 : i, 1, 0, {}};
}

__global__ void __launch_bounds__(THREADS) judge(dm_judge_work k, int64_t column_parts) {
  __shared__ dm_columns_found columns[THREADS];
  __shared__ dm_rows_found of[THREADS];
  dm_columns_found some = {};
  if (threadIdx.x < column_parts) some = k.columns[threadIdx.x];
  join_threads(columns, some, dm_columns_join);
  const double subnormal = k.factors.unit * sqrt(columns[0].squares);
  const double limit = k.factors.largest / columns[0].column;
  dm_rows_found found = {0.0, 0.0, 0.0, -1, 0, 0, {}};
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < k.rows;
       i += (int64_t)gridDim.x * THREADS) {
    dm_rows_found one = k.exact ? compare_exactly(k, i) : compare(k, i, subnormal, limit);
    one.squares = total<double>(k.c.norms, i, k.rows, k.c.parts);
    dm_rows_join(&found, &one);
  }
  join_threads(of, found, dm_rows_join);
  if (threadIdx.x == 0) k.found[blockIdx.x] = of[0];
}

} // namespace

cudaError_t dm_kernels_weigh(const dm_judge_work *work) {
  weigh<<<(unsigned)dm_kernels_judge_parts(work->cols), THREADS, 0, work->stream>>>(*work);
  return cudaGetLastError();
}

cudaError_t dm_kernels_take_t(const dm_judge_work *work) {
  const int64_t blocks = (work->depth + THREADS - 1) / THREADS;
  take_t<<<(unsigned)blocks, THREADS, 0, work->stream>>>(*work);
  return cudaGetLastError();
}

cudaError_t dm_kernels_judge(const dm_judge_work *work) {
  judge<<<(unsigned)dm_kernels_judge_parts(work->rows), THREADS, 0, work->stream>>>(
      *work, dm_kernels_judge_parts(work->cols));
  return cudaGetLastError();
}

int64_t dm_kernels_judge_parts(int64_t count) {
  const int64_t blocks = (count + THREADS - 1) / THREADS;
  return blocks < DM_JUDGED_PARTS ? blocks : DM_JUDGED_PARTS;
}
