/* Converts residues of C to f64.  A thread processes four neighbouring elements: it reads a word of
 * each plane, and transposes words of one modulus to words of one element. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"
#include "kernels/residues/remainder.cuh"

namespace {

constexpr int WIDE = 32, TALL = 8, COLS = 4 * WIDE; /* threads of a block; columns of a block */

template <int QUADS> struct CombineWork {
  const int8_t *c;
  int64_t row_stride, plane;
  double *to;
  int64_t rows, cols, to_stride;
  unsigned across; /* blocks per row of blocks */
  const int32_t *of_rows, *of_cols;
  int count;
  bool words, pairs; /* load residues as words, store numbers in pairs */
  Remainder<QUADS> remainder;
};

/* Loads residues of four elements, of which the first COUNT exist; 0 for unused moduli. */
template <int QUADS>
__device__ __forceinline__ void load_residues(const CombineWork<QUADS> &work, const int8_t *from,
                                              int count, uint32_t (&words)[4 * QUADS]) {
  if (work.words && count == 4) {
#pragma unroll
    for (int x = 0; x < 4 * QUADS; x++, from += work.plane) {
      const bool used = x < 4 * QUADS - 3 || x < work.count;
      words[x] = used ? __ldcs(reinterpret_cast<const uint32_t *>(from)) : 0;
    }
    return;
  }
#pragma unroll
  for (int x = 0; x < 4 * QUADS; x++, from += work.plane) {
    words[x] = 0;
    const int there = x < work.count ? count : 0;
#pragma unroll 1
    for (int i = 0; i < there; i++) words[x] |= (uint32_t)(uint8_t)from[i] << 8 * i;
  }
}

/* Transposes 4 x 4 bytes. */
__device__ __forceinline__ void transpose(uint32_t (&word)[4]) {
  const uint32_t low_0 = __byte_perm(word[0], word[1], 0x5140);
  const uint32_t low_1 = __byte_perm(word[2], word[3], 0x5140);
  const uint32_t high_0 = __byte_perm(word[0], word[1], 0x7362);
  const uint32_t high_1 = __byte_perm(word[2], word[3], 0x7362);
  word[0] = __byte_perm(low_0, low_1, 0x5410), word[1] = __byte_perm(low_0, low_1, 0x7632);
  word[2] = __byte_perm(high_0, high_1, 0x5410), word[3] = __byte_perm(high_0, high_1, 0x7632);
}

template <int QUADS>
__global__ void __launch_bounds__(WIDE *TALL)
    combine(const __grid_constant__ CombineWork<QUADS> work) {
  const int64_t row = (int64_t)(blockIdx.x / work.across) * TALL + threadIdx.y;
  const int64_t col = (int64_t)(blockIdx.x % work.across) * COLS + 4 * threadIdx.x;
  if (row >= work.rows || col >= work.cols) return;
  const int count = (int)min(work.cols - col, (int64_t)4);
  uint32_t words[4 * QUADS], quad[4][QUADS];
  int sum[4][2 * QUADS];
  load_residues<QUADS>(work, work.c + row * work.row_stride + col, count, words);
#pragma unroll
  for (int q = 0; q < QUADS; q++) {
    uint32_t four[4] = {words[4 * q], words[4 * q + 1], words[4 * q + 2], words[4 * q + 3]};
    transpose(four);
#pragma unroll
    for (int i = 0; i < 4; i++) quad[i][q] = four[i];
  }
  sum_products(work.remainder, quad, sum);
  const int of_row = work.of_rows[row];
  double value[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    value[i] = i < count ? value_of(work.remainder, sum[i], -(of_row + work.of_cols[col + i])) : 0;
  double *to = work.to + row * work.to_stride + col;
  if (work.pairs && count == 4) {
    reinterpret_cast<double2 *>(to)[0] = {value[0], value[1]};
    reinterpret_cast<double2 *>(to)[1] = {value[2], value[3]};
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (i < count) to[i] = value[i];
  }
}

template <int QUADS> cudaError_t start(const dm_residue_combination *c) {
  CombineWork<QUADS> work = {};
  work.c = c->c, work.row_stride = c->row_stride, work.plane = c->plane;
  work.to = static_cast<double *>(c->to.base);
  work.rows = c->to.rows, work.cols = c->to.cols, work.to_stride = c->to.row_stride;
  work.of_rows = c->of_rows, work.of_cols = c->of_cols;
  work.count = c->moduli->count;
  work.words = ((uint64_t)(uintptr_t)c->c | (uint64_t)c->row_stride | (uint64_t)c->plane) % 4 == 0;
  work.pairs = (uintptr_t)work.to % 16 == 0 && (work.rows == 1 || work.to_stride % 2 == 0);
  work.remainder = remainder_of<QUADS>(c->moduli);
  const int64_t across = divide_up(work.cols, COLS), blocks = across * divide_up(work.rows, TALL);
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  work.across = (unsigned)across;
  combine<QUADS><<<(unsigned)blocks, dim3(WIDE, TALL), 0, c->stream>>>(work);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_residue_combine(const dm_residue_combination *c) {
  const int count = c->moduli->count;
  if (c->to.dtype != DM_F64 || c->to.col_stride != 1 || count < 1 || count > 4 * QUADS_MOST)
    return cudaErrorInvalidValue;
  switch ((count + 3) / 4) {
  case 1:
    return start<1>(c);
  case 2:
    return start<2>(c);
  case 3:
    return start<3>(c);
  case 4:
    return start<4>(c);
  default:
    return start<5>(c);
  }
}
