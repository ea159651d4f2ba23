/* Converts panels of f64 or f32 to panels of residues: each number is read once, then scaled,
 * truncated and reduced modulo all moduli in registers.  A warp writes 128 bytes of a row of each
 * plane at once.  Complex numbers have two PARTS, and residues of their sum, too. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/residue_kernels.h"
#include "kernels/residues/whole.cuh"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32, DEEP = 128; /* elements along k per block */

/* The target, for any type of number. */
struct SplitTarget {
  const int32_t *exponents;
  int8_t *to;
  int64_t stride, plane, depth;
  int count, each; /* moduli; exponents per row, of which the first is used */
  bool columns;
};

template <class Number> struct SplitWork {
  const Number *from;
  int64_t rows, depth, row_stride, col_stride; /* strides in parts */
  unsigned down, across;                       /* blocks down the rows and along k */
  bool wide;                                   /* rows allow loads of 16 bytes */
  SplitTarget target;
};

/* Splits FOUR numbers of ROW from K; all threads of the warp must have the same ROW. */
template <int PARTS>
__device__ __forceinline__ void split_run(const SplitTarget &to, const double (&four)[PARTS][4],
                                          int64_t row, int64_t k) {
  const int64_t place = to.columns ? dm_residue_place(row) : row;
  split_four(four, dm_power_of(to.exponents[to.each * row]), to.count,
             to.to + place * to.stride + k, to.plane, k < to.depth);
}

/* ---- contiguous along k ---- */

__device__ __forceinline__ void load_aligned(const double *from, double (&four)[4]) {
  const double2 first = *reinterpret_cast<const double2 *>(from);
  const double2 second = *reinterpret_cast<const double2 *>(from + 2);
  four[0] = first.x, four[1] = first.y, four[2] = second.x, four[3] = second.y;
}

__device__ __forceinline__ void load_aligned(const float *from, double (&four)[4]) {
  const float4 all = *reinterpret_cast<const float4 *>(from);
  four[0] = all.x, four[1] = all.y, four[2] = all.z, four[3] = all.w;
}

template <int PARTS, class Number>
__device__ __forceinline__ void load_four(const SplitWork<Number> &work, double (&four)[PARTS][4],
                                          int64_t row, int64_t k) {
  const Number *from = work.from + row * work.row_stride + PARTS * k;
  double all[PARTS][4]; /* as in memory */
#pragma unroll
  for (int at = 0; at < PARTS; at++) {
    if (work.wide && k + 4 <= work.depth) {
      load_aligned(from + 4 * at, all[at]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        all[at][i] = k + (4 * at + i) / PARTS < work.depth ? from[4 * at + i] : 0.0;
    }
  }
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll
    for (int i = 0; i < 4; i++) four[part][i] = all[(PARTS * i + part) / 4][(PARTS * i + part) % 4];
}

/* A warp for a row. */
template <int PARTS, class Number>
__global__ void __launch_bounds__(THREADS) split_rows(const SplitWork<Number> work) {
  const int64_t row = (int64_t)(blockIdx.x / work.across) * WARPS + threadIdx.x / 32;
  const int64_t k = (int64_t)(blockIdx.x % work.across) * DEEP + threadIdx.x % 32 * 4;
  if (row >= work.rows) return; /* for the whole warp */
  double four[PARTS][4];
  load_four(work, four, row, k);
  split_run(work.target, four, row, k);
}

/* ---- other strides: 32 rows through shared memory ---- */

constexpr int TALL = 32, QUARTER = DEEP / 4 + 1, TILE_ROW = 4 * QUARTER + 1; /* banks differ */

/* The position of number K in a row: numbers that a warp reads at once are adjacent. */
__device__ __forceinline__ int tile_place(int k) {
  return k % 4 * QUARTER + k / 4;
}

/* Loads a tile, a row, or a part of a row of complex numbers, per lane. */
template <int PARTS, class Number>
__device__ __forceinline__ void load_tile(const SplitWork<Number> &work,
                                          double (&tile)[TALL][TILE_ROW], int64_t row, int64_t k) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  row += lane / PARTS, k += warp;
  const Number *from =
      work.from + row * work.row_stride + k * work.col_stride + (PARTS > 1 ? lane % PARTS : 0);
  Number numbers[DEEP / WARPS];
#pragma unroll
  for (int i = 0; i < DEEP / WARPS; i++) {
    const bool inside = row < work.rows && k + i * WARPS < work.depth;
    numbers[i] = inside ? from[i * WARPS * work.col_stride] : 0;
  }
#pragma unroll
  for (int i = 0; i < DEEP / WARPS; i++) tile[lane][tile_place(warp + i * WARPS)] = numbers[i];
}

template <int PARTS, class Number>
__global__ void __launch_bounds__(THREADS, PARTS == 1 ? 5 : 4)
    split_columns(const SplitWork<Number> work) {
  __shared__ double tile[TALL][TILE_ROW];
  const int64_t row = (int64_t)(blockIdx.x % work.down) * (TALL / PARTS);
  const int64_t k = (int64_t)(blockIdx.x / work.down) * DEEP;
  load_tile<PARTS>(work, tile, row, k);
  __syncthreads();
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int r = threadIdx.x / 32; r < TALL / PARTS && row + r < work.rows; r += WARPS) {
    double four[PARTS][4];
#pragma unroll
    for (int part = 0; part < PARTS; part++)
#pragma unroll
      for (int i = 0; i < 4; i++) four[part][i] = tile[PARTS * r + part][i * QUARTER + lane];
    split_run(work.target, four, row + r, k + 4 * lane);
  }
}

bool fits(const dm_residue_split *s) {
  const dm_residue_panel &to = s->to;
  const bool is_complex = s->from.dtype == DM_C64 || s->from.dtype == DM_C128;
  const int planes = is_complex ? DM_RESIDUE_PLANES : 1;
  return to.count >= planes && to.count % planes == 0 && to.count / planes <= MODULI &&
         to.rows == s->from.rows && to.depth == s->from.cols && to.stride % 16 == 0 &&
         to.stride >= to.depth && to.plane_rows % DM_RESIDUE_GROUP == 0 &&
         to.plane_rows >= to.rows && (uintptr_t)to.base % 16 == 0;
}

template <int PARTS, class Number> cudaError_t start(const dm_residue_split *s) {
  const dm_view from = s->from;
  const int64_t quad = 16 / (int64_t)sizeof(Number);
  SplitWork<Number> work = {};
  work.from = static_cast<const Number *>(from.base);
  work.rows = s->to.rows, work.depth = s->to.depth;
  work.row_stride = PARTS * from.row_stride, work.col_stride = PARTS * from.col_stride;
  work.target.exponents = s->exponents;
  work.target.to = s->to.base, work.target.stride = s->to.stride;
  work.target.plane = s->to.plane_rows * s->to.stride;
  work.target.depth = work.depth;
  work.target.count = s->to.count / (PARTS == 1 ? 1 : DM_RESIDUE_PLANES);
  work.target.each = s->columns ? PARTS : 1, work.target.columns = s->columns;
  const bool along = from.col_stride == 1;
  work.wide =
      along && (uintptr_t)from.base % 16 == 0 && (from.rows == 1 || work.row_stride % quad == 0);
  const int64_t down = divide_up(work.rows, along ? WARPS : TALL / PARTS);
  const int64_t across = divide_up(work.depth, DEEP), blocks = down * across;
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  work.down = (unsigned)down, work.across = (unsigned)across;
  if (along)
    split_rows<PARTS, Number><<<(unsigned)blocks, THREADS, 0, s->stream>>>(work);
  else
    split_columns<PARTS, Number><<<(unsigned)blocks, THREADS, 0, s->stream>>>(work);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_residue_split(const dm_residue_split *s) {
  if (!fits(s)) return cudaErrorInvalidValue;
  switch (s->from.dtype) {
  case DM_F64:
    return start<1, double>(s);
  case DM_F32:
    return start<1, float>(s);
  case DM_C128:
    return start<2, double>(s);
  case DM_C64:
    return start<2, float>(s);
  default:
    return cudaErrorInvalidValue;
  }
}
