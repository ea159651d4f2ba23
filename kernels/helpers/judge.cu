/* judge: the short vectors of the verification of a whole product, which never leave the GPU: the
 * weights of the columns, the roots of sums of squares, and the comparison of all rows. */
#include "kernels/verify_kernels.h"

namespace {

constexpr int THREADS = 256, WEIGHING = 1024;

/* One block: the sums do not depend on the order in which blocks end. */
__global__ void __launch_bounds__(WEIGHING) weigh(dm_judge_work k) {
  __shared__ double squares[WEIGHING], column[WEIGHING];
  __shared__ unsigned long long left_out;
  __shared__ int strained;
  if (threadIdx.x == 0) left_out = 0, strained = 0;
  __syncthreads();
  double sum = 0.0, largest = 0.0;
  for (int64_t j = threadIdx.x; j < k.cols; j += WEIGHING) {
    const double square = k.col_squares[j], norm = sqrt(square);
    const double factor = dm_row_weight(k.seed, j);
    double w = factor;
    if (!isfinite(norm)) {
      w = 0.0;
      atomicAdd(&left_out, 1ull);
      strained = 1;
    } else if (square > DM_LEAST_SQUARES) {
      w = factor / norm;
    } else if (norm > 0.0) { /* nearly zero; this and a column of zeros keep their weight */
      strained = 1;
    }
    k.w[j * k.parts] = w;
    if (k.parts == 2) k.w[j * 2 + 1] = 0.0;
    k.sizes_w[j] = fabs(w);
    sum += w * w;
    if (w != 0.0 && square > 0.0) largest = fmax(largest, 1.0 / fabs(w));
  }
  squares[threadIdx.x] = sum, column[threadIdx.x] = largest;
  for (int half = WEIGHING / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x >= half) continue;
    squares[threadIdx.x] += squares[threadIdx.x + half];
    column[threadIdx.x] = fmax(column[threadIdx.x], column[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) *k.columns = {squares[0], column[0], (int64_t)left_out, strained};
}

/* At least 2^-1000: a probe skips columns with factor 0, but must see NaN in A. */
__global__ void __launch_bounds__(THREADS) take_roots(dm_judge_work k) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= k.depth) return;
  const double square = k.sizes_t[i], *t = k.t + i * k.parts;
  const bool is_zero = t[0] == 0.0 && (k.parts == 1 || t[1] == 0.0);
  if (!isfinite(square) || (square < DM_LEAST_SQUARES && !is_zero)) k.columns->strained = 1;
  k.sizes_t[i] = fmax(sqrt(square), 0x1p-1000);
}

__device__ void load(double (&to)[2], const double *from, int64_t row, int parts) {
  to[0] = from[row * parts];
  to[1] = parts == 2 ? from[row * 2 + 1] : 0.0;
}

__global__ void __launch_bounds__(THREADS) judge(dm_judge_work k) {
  __shared__ dm_rows_found of[THREADS];
  const double subnormal = k.factors.unit * sqrt(k.columns->squares);
  const double limit = k.factors.largest / k.columns->column;
  dm_rows_found found = {0.0, 0.0, 0.0, -1, 0, 0};
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < k.rows;
       i += (int64_t)gridDim.x * THREADS) {
    dm_row_sums s = {};
    load(s.y, k.y, i, k.parts);
    load(s.z, k.z, i, k.parts);
    s.a_squares = k.a_squares[i], s.z_squares = k.z_squares[i];
    if (k.factors.reads_c) {
      load(s.z0, k.z0, i, k.parts);
      s.z0_squares = k.z0_squares[i];
    }
    const dm_row_found row = dm_row_compare(&k.factors, &s, subnormal, limit);
    const bool is_worst = row.checked && row.ratio > 0.0;
    const dm_rows_found one = {row.ratio,         row.relative, k.c_squares[i],
                               is_worst ? i : -1, row.checked,  row.strained};
    dm_rows_join(&found, &one);
  }
  of[threadIdx.x] = found;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) dm_rows_join(&of[threadIdx.x], &of[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) k.found[blockIdx.x] = of[0];
}

} // namespace

cudaError_t dm_kernels_weigh(const dm_judge_work *work) {
  weigh<<<1, WEIGHING, 0, work->stream>>>(*work);
  return cudaGetLastError();
}

cudaError_t dm_kernels_take_roots(const dm_judge_work *work) {
  const int64_t blocks = (work->depth + THREADS - 1) / THREADS;
  take_roots<<<(unsigned)blocks, THREADS, 0, work->stream>>>(*work);
  return cudaGetLastError();
}

cudaError_t dm_kernels_judge(const dm_judge_work *work) {
  judge<<<(unsigned)dm_kernels_judge_parts(work->rows), THREADS, 0, work->stream>>>(*work);
  return cudaGetLastError();
}

int64_t dm_kernels_judge_parts(int64_t rows) {
  const int64_t blocks = (rows + THREADS - 1) / THREADS;
  return blocks < DM_JUDGED_PARTS ? blocks : DM_JUDGED_PARTS;
}
