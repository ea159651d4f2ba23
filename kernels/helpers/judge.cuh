/* judge: what kernels of the verification share: the weight of a column, and the joining of what
 * threads and blocks found. */
#ifndef DM_KERNELS_JUDGE_CUH
#define DM_KERNELS_JUDGE_CUH

#include <string.h>

#include "kernels/helpers/number.cuh"
#include "kernels/verify_kernels.h"

constexpr int JUDGES = 256; /* threads of a block */

/* Squares that underflow leave a trace (DM_VANISHING in verify_sums.h). */
template <class Wide> static __device__ __forceinline__ double add_seen(Wide a, double sum) {
  constexpr double VANISHING = 0x1p-1000;
  const double more = mad_square(a, sum);
  return more < VANISHING && !is_zero(a) ? VANISHING : more;
}

/* The weight of column J; SQUARE: of its elements, or of a sample of them. */
static __device__ double weight_of(uint64_t seed, int64_t j, double square, bool sampled,
                                   dm_columns_found *found) {
  const double norm = sqrt(square), factor = dm_row_weight(seed, j);
  dm_columns_found own = {};
  double w = factor;
  if (!isfinite(norm)) {
    w = 0.0;
    own.left_out = own.strained = 1;
  } else if (square > DM_LEAST_SQUARES) {
    w = factor / norm;
  } else if (norm > 0.0 ||
             sampled) { /* nearly zero; this and a column of zeros keep their weight */
    own.strained = 1;
  }
  own.squares = w * w;
  if (w != 0.0 && square > 0.0) own.column = 1.0 / fabs(w);
  dm_columns_join(found, &own);
  return w;
}

/* That of integers: 64 random bits. */
static __device__ uint64_t exact_weight_of(uint64_t seed, int64_t j) {
  return dm_random_bits(seed, 0, j, 0) | 1u;
}

/* The size of t = op(B) w, at least 2^-1000: a probe skips columns with size 0, but must see NaN in
 * A.  STRAINED: its square overflowed or lost accuracy. */
static __device__ double size_of_t(double square, bool is_zero, bool *strained) {
  *strained = !isfinite(square) || (square < DM_LEAST_SQUARES && !is_zero);
  return fmax(sqrt(square), 0x1p-1000);
}

static __device__ dm_rows_found nothing_found() {
  return {0.0, 0.0, 0.0, -1, 0, 0, {}};
}

/* What columns mean for all rows, as dm_row_compare takes it. */
struct RowLimits {
  double subnormal, limit;
};

static __device__ __forceinline__ RowLimits limits_of(const dm_row_factors &factors,
                                                      const dm_columns_found &columns) {
  return {factors.unit * sqrt(columns.squares), factors.largest / columns.column};
}

/* Row I of C, from its sums. */
template <bool REAL>
static __device__ __forceinline__ dm_rows_found found_in_row(const dm_row_factors *factors,
                                                             const dm_row_sums &sums, int64_t i,
                                                             const RowLimits &limits) {
  const dm_row_found row = dm_row_compare(factors, &sums, limits.subnormal, limits.limit, REAL);
  dm_rows_found found = {row.ratio,   row.relative, 0.0, row.checked && row.ratio > 0.0 ? i : -1,
                         row.checked, row.strained, {}};
  dm_row_bias_add(&found.bias, factors, &sums, REAL);
  return found;
}

/* The same of integers: Z must be EXPECTED. */
static __device__ dm_rows_found found_exactly(uint64_t z, uint64_t expected, int64_t i) {
  const bool good = z == expected;
  const double residual = good ? 0.0 : (double)INFINITY;
  return {residual, residual, 0.0, good ? -1 : i, 1, 0, {}};
}

/* V of the lane at DISTANCE, word by word. */
template <class Found>
static __device__ __forceinline__ Found found_of_lane(const Found &v, int distance) {
  constexpr int WORDS = sizeof(Found) / 4;
  static_assert(sizeof(Found) % 4 == 0, "words");
  uint32_t words[WORDS];
  memcpy(words, &v, sizeof words);
#pragma unroll
  for (int w = 0; w < WORDS; w++) words[w] = __shfl_xor_sync(~0u, words[w], distance);
  Found other;
  memcpy(&other, words, sizeof other);
  return other;
}

/* What all of COUNT lanes found, in each of them; JOIN adds one to another. */
template <int COUNT = 32, class Found, class Join>
static __device__ __forceinline__ Found join_lanes(Found found, Join join) {
#pragma unroll 1
  for (int distance = COUNT / 2; distance > 0; distance /= 2) {
    const Found more = found_of_lane(found, distance);
    join(&found, &more);
  }
  return found;
}

/* The same of the block.  Loops are not unrolled, and code is shared: what runs once waits for its
 * instructions. */
template <class Found, class Join>
static __device__ __noinline__ Found join_threads(Found found, Join join) {
  constexpr int LANES = 32, WARPS = JUDGES / LANES;
  __shared__ Found of_warps[WARPS];
  found = join_lanes(found, join);
  __syncthreads(); /* after an earlier use */
  if (threadIdx.x % LANES == 0) of_warps[threadIdx.x / LANES] = found;
  __syncthreads();
  return join_lanes<WARPS>(of_warps[threadIdx.x % WARPS], join);
}

/* After all threads of a block have written what it found: whether it is the last block to do so,
 * for which the others' findings are visible, and which leaves TURN as it was, 0. */
static __device__ __forceinline__ bool is_last_block(unsigned *turn) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(turn, 1) == gridDim.x - 1;
    if (last) *turn = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/* What all blocks found. */
template <class Found, class Join>
static __device__ __forceinline__ Found join_blocks(const Found *blocks, int64_t count,
                                                    const Found &nothing, Join join) {
  if (count == 1) return blocks[0];
  Found own = nothing;
  for (int64_t i = threadIdx.x; i < count; i += JUDGES) join(&own, &blocks[i]);
  return join_threads(own, join);
}

/* A block's findings: the last block to come writes those of all to K.judged. */
static __device__ __forceinline__ void tell(const dm_judge_work &k, const dm_columns_found *columns,
                                            const dm_rows_found &rows) {
  if (gridDim.x == 1) {
    if (threadIdx.x == 0) k.judged->rows = rows;
    if (threadIdx.x == 0 && columns) k.judged->columns = *columns;
    return;
  }
  if (threadIdx.x == 0) k.found[blockIdx.x] = rows;
  if (threadIdx.x == 0 && columns) k.columns[blockIdx.x] = *columns;
  if (!is_last_block(k.turn)) return;
  const dm_rows_found all = join_blocks(k.found, gridDim.x, nothing_found(), dm_rows_join);
  if (threadIdx.x == 0) k.judged->rows = all;
  if (!columns) return;
  const dm_columns_found of_all =
      join_blocks(k.columns, gridDim.x, dm_columns_found{}, dm_columns_join);
  if (threadIdx.x == 0) k.judged->columns = of_all;
}

#endif
