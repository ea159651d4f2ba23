/* judge: what kernels of the verification share: the weight of a column, and the joining of what
 * threads and blocks found. */
#ifndef DM_KERNELS_JUDGE_CUH
#define DM_KERNELS_JUDGE_CUH

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

/* Row I of C, from its sums. */
static __device__ dm_rows_found found_in_row(const dm_row_factors *factors, const dm_row_sums &sums,
                                             int64_t i, const dm_columns_found &columns) {
  const double subnormal = factors->unit * sqrt(columns.squares);
  const dm_row_found row =
      dm_row_compare(factors, &sums, subnormal, factors->largest / columns.column);
  dm_rows_found found = {row.ratio,   row.relative, 0.0, row.checked && row.ratio > 0.0 ? i : -1,
                         row.checked, row.strained, {}};
  dm_row_bias_add(&found.bias, factors, &sums);
  return found;
}

/* The same of integers: Z must be EXPECTED. */
static __device__ dm_rows_found found_exactly(uint64_t z, uint64_t expected, int64_t i) {
  const bool good = z == expected;
  const double residual = good ? 0.0 : (double)INFINITY;
  return {residual, residual, 0.0, good ? -1 : i, 1, 0, {}};
}

/* JOIN adds all threads' values; the sum of all is OF[0]. */
template <class Found, class Join>
static __device__ __forceinline__ void join_threads(Found (&of)[JUDGES], const Found &found,
                                                    Join join) {
  of[threadIdx.x] = found;
  for (int half = JUDGES / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) join(&of[threadIdx.x], &of[threadIdx.x + half]);
  }
  __syncthreads();
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

/* Joins the blocks' findings in their order: *found becomes that of all. */
template <class Found, class Join>
static __device__ __forceinline__ void join_blocks(Found (&of)[JUDGES], const Found *blocks,
                                                   int64_t count, const Found &nothing, Join join,
                                                   Found *found) {
  Found own = nothing;
  for (int64_t i = threadIdx.x; i < count; i += JUDGES) join(&own, &blocks[i]);
  join_threads(of, own, join);
  if (threadIdx.x == 0) *found = of[0];
}

#endif
