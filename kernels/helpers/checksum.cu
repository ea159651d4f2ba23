/* checksum: *sum += hashes of all elements of M with their positions (core/element_sum.h), reading
 * M once.
 *
 * Integer sums do not depend on the order: each thread sums its runs (of 16 bytes if the rows allow
 * it), each block sums its threads, and the blocks add to *sum atomically. */
#include "kernels/helpers/fold.cuh"
#include "kernels/helpers/walk.cuh"
#include "kernels/verify_kernels.h"

namespace {

constexpr int LANES = 32, WARPS = 8, UNROLLED = 4, BLOCKS_PER_PROCESSOR = 8;

__device__ __forceinline__ uint64_t sum_of_lanes(uint64_t v) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    v += __shfl_xor_sync(~0u, (unsigned long long)v, distance);
  return v;
}

/* LINE: positions from one row to the next. */
template <class Word, bool WIDE>
__global__ void __launch_bounds__(LANES *WARPS)
    checksum(Matrix<const Word> m, uint64_t first, uint64_t line, bool subtract,
             unsigned long long *sum) {
  constexpr int LENGTH = Run<Word, WIDE>::LENGTH;
  __shared__ uint64_t of_warps[WARPS];
  uint64_t own = 0;
  Walk<Word, WIDE, UNROLLED> walk(m);
  while (walk.inside()) {
    const Batch<Word, WIDE, UNROLLED> batch = walk.next();
    Run<Word, WIDE> runs[UNROLLED];
    batch.load(m, runs);
#pragma unroll
    for (int u = 0; u < UNROLLED; u++) {
      const uint64_t key = dm_hash_key(first + line * batch.row[u] + batch.col[u]);
#pragma unroll
      for (int v = 0; v < LENGTH; v++)
        if (batch.full || (u < batch.count && batch.col[u] + v < m.cols))
          own += dm_hash_word(runs[u].at[v], key + v * DM_HASH_STEP);
    }
  }
  own = sum_of_lanes(own);
  if (threadIdx.x % LANES == 0) of_warps[threadIdx.x / LANES] = own;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < WARPS; w++) own += of_warps[w];
  atomicAdd(sum, (unsigned long long)(subtract ? 0 - own : own));
}

template <class Word>
cudaError_t launch(dm_view view, uint64_t first, uint64_t line, bool subtract, uint64_t *sum,
                   int processors, cudaStream_t stream) {
  const Matrix<const Word> m = matrix_of<const Word>(view);
  const bool wide = is_wide(m);
  const int64_t runs = view.rows * divide_up(view.cols, wide ? 16 / (int64_t)sizeof(Word) : 1);
  const int64_t blocks = divide_up(runs, (int64_t)LANES * WARPS * UNROLLED);
  const auto kernel = wide ? checksum<Word, true> : checksum<Word, false>;
  kernel<<<blocks_for(blocks, (int64_t)processors * BLOCKS_PER_PROCESSOR), LANES * WARPS, 0,
           stream>>>(m, first, line, subtract, reinterpret_cast<unsigned long long *>(sum));
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_checksum_load(dm_dtype dtype) {
  switch (size_of(dtype)) {
  case 1:
    return load_now(checksum<uint8_t, true>);
  case 2:
    return load_now(checksum<uint16_t, true>);
  case 4:
    return load_now(checksum<uint32_t, true>);
  default:
    return load_now(checksum<uint64_t, true>);
  }
}

cudaError_t dm_kernels_checksum(dm_view m, dm_element_place place, bool subtract, uint64_t *sum,
                                int processors, cudaStream_t stream) {
  const uint64_t line = (uint64_t)place.cols;
  const uint64_t first = (uint64_t)place.row * line + (uint64_t)place.col;
  switch (size_of(m.dtype)) {
  case 1:
    return launch<uint8_t>(m, first, line, subtract, sum, processors, stream);
  case 2:
    return launch<uint16_t>(m, first, line, subtract, sum, processors, stream);
  case 4:
    return launch<uint32_t>(m, first, line, subtract, sum, processors, stream);
  case 8:
    return launch<uint64_t>(m, first, line, subtract, sum, processors, stream);
  default:
    return cudaErrorInvalidValue;
  }
}
