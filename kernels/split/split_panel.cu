/* Splits panels of f32 into two panels of f16, high and low parts, in the same layout.  Each row of
 * A is read once, by a block that keeps it in registers while it finds the largest and smallest
 * magnitude; B is read twice, because its columns are long and not contiguous.  Complex numbers of
 * B become two rows of two columns, which share an exponent. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/split_kernels.h"

namespace {

struct PanelWork {
  const float *from;
  int64_t rows, cols, stride; /* cols, stride: of real numbers */
  bool wide;                  /* rows allow loads of 16 bytes */
  __half *high, *low;
  int64_t to_stride;
  int32_t *exponents;
  dm_split_line *lines;
  int64_t depth, step; /* rows and lines of a lane */
  dm_split_count *count;
};

struct alignas(8) HalfFour {
  __half at[4];
};

/* Loads columns COL to COL + 3 of a row, 0 beyond its end. */
__device__ __forceinline__ float4 load_four(const PanelWork &work, int64_t row, int64_t col) {
  const float *from = work.from + row * work.stride + col;
  float4 four = {0.0f, 0.0f, 0.0f, 0.0f};
  if (work.wide && col + 4 <= work.cols) return *reinterpret_cast<const float4 *>(from);
  if (col < work.cols) four.x = from[0];
  if (col + 1 < work.cols) four.y = from[1];
  if (col + 2 < work.cols) four.z = from[2];
  if (col + 3 < work.cols) four.w = from[3];
  return four;
}

/* With SCALE 0, NaN and Inf become 0 too. */
__device__ __forceinline__ void split_number(float number, float scale, __half *high, __half *low) {
  const float x = scale == 0.0f ? 0.0f : number * scale;
  *high = __float2half_rn(x);
  *low = __float2half_rn((x - __half2float(*high)) * (float)(1 << DM_SPLIT_LOW));
}

/* Rows of the parts hold complete groups of four. */
__device__ __forceinline__ void store_four(const PanelWork &work, int64_t row, int64_t col,
                                           const float4 &four, const float (&scale)[4]) {
  HalfFour high, low;
  split_number(four.x, scale[0], &high.at[0], &low.at[0]);
  split_number(four.y, scale[1], &high.at[1], &low.at[1]);
  split_number(four.z, scale[2], &high.at[2], &low.at[2]);
  split_number(four.w, scale[3], &high.at[3], &low.at[3]);
  const int64_t at = row * work.to_stride + col;
  *reinterpret_cast<HalfFour *>(work.high + at) = high;
  *reinterpret_cast<HalfFour *>(work.low + at) = low;
}

__device__ __forceinline__ void count_native(dm_split_count *count, int32_t exponent) {
  if (!count || exponent != DM_SPLIT_NATIVE) return;
  atomicAdd(&count->now, 1ull);
  atomicAdd(&count->all, 1ull);
}

/* ---- A: a block for a row ---- */

constexpr int ROW_THREADS = 512, ROW_PARTS = DM_SPLIT_DEPTH / (4 * ROW_THREADS);

__device__ __forceinline__ dm_split_line look_at_block(dm_split_line line) {
  __shared__ dm_split_line warps[ROW_THREADS / 32];
  line.largest = __reduce_max_sync(~0u, line.largest);
  line.least = __reduce_min_sync(~0u, line.least);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = line;
  __syncthreads();
  line = warps[threadIdx.x % (ROW_THREADS / 32)];
  line.largest = __reduce_max_sync(~0u, line.largest);
  line.least = __reduce_min_sync(~0u, line.least);
  return line;
}

__global__ void __launch_bounds__(ROW_THREADS) split_rows(const PanelWork work) {
  const int64_t row = blockIdx.x;
  float4 parts[ROW_PARTS];
  dm_split_line line = dm_split_nothing();
#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++)
    parts[i] = load_four(work, row, 4 * (i * ROW_THREADS + (int)threadIdx.x));
#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++) {
    line = dm_split_include(dm_split_include(line, parts[i].x), parts[i].y);
    line = dm_split_include(dm_split_include(line, parts[i].z), parts[i].w);
  }
  const int32_t exponent = dm_split_exponent(look_at_block(line));
  const float by = dm_split_scale(exponent), scale[4] = {by, by, by, by};
  if (threadIdx.x == 0) {
    work.exponents[row] = exponent;
    count_native(work.count, exponent);
  }
#pragma unroll
  for (int i = 0; i < ROW_PARTS; i++) {
    const int64_t col = 4 * (i * ROW_THREADS + (int)threadIdx.x);
    if (col < work.cols) store_four(work, row, col, parts[i], scale);
  }
}

/* ---- B: blocks of 128 columns ---- */

constexpr int ACROSS = 32, DOWN = 8, BLOCK_COLS = 4 * ACROSS, BLOCK_ROWS = DM_SPLIT_BLOCK;

struct Block {
  int64_t row, col; /* this thread's first element */
  int64_t end;      /* end of its rows, which are DOWN apart */
  int64_t lane;

  __device__ __forceinline__ Block(const PanelWork &work, int64_t block) {
    const int64_t across = (work.cols + BLOCK_COLS - 1) / BLOCK_COLS;
    const int64_t first = block / across * BLOCK_ROWS;
    row = first + threadIdx.x / ACROSS;
    col = block % across * BLOCK_COLS + threadIdx.x % ACROSS * 4;
    end = min(first + BLOCK_ROWS, work.rows);
    lane = first / work.depth;
  }
};

/* Stores the complement of the smallest magnitude, so that zero bytes represent an empty line. */
__device__ __forceinline__ void add_line(dm_split_line *to, dm_split_line line) {
  atomicMax(&to->largest, line.largest);
  atomicMax(&to->least, ~line.least);
}

__device__ __forceinline__ dm_split_line line_at(const dm_split_line *from) {
  return {from->largest, ~from->least};
}

__device__ __forceinline__ dm_split_line joined(dm_split_line x, dm_split_line y) {
  return {max(x.largest, y.largest), min(x.least, y.least)};
}

template <bool COMPLEX>
__global__ void __launch_bounds__(ACROSS *DOWN) look_at_columns(const PanelWork work) {
  __shared__ dm_split_line of_block[BLOCK_COLS];
  const Block block(work, blockIdx.x);
  dm_split_line lines[4];
#pragma unroll
  for (int i = 0; i < 4; i++) lines[i] = dm_split_nothing();
  if (threadIdx.x < BLOCK_COLS) of_block[threadIdx.x] = {0, 0};
  __syncthreads();
#pragma unroll 8
  for (int64_t row = block.row; row < block.end; row += DOWN) {
    const float4 four = load_four(work, row, block.col);
    lines[0] = dm_split_include(lines[0], four.x), lines[1] = dm_split_include(lines[1], four.y);
    lines[2] = dm_split_include(lines[2], four.z), lines[3] = dm_split_include(lines[3], four.w);
  }
  if (COMPLEX) {
    lines[0] = lines[1] = joined(lines[0], lines[1]);
    lines[2] = lines[3] = joined(lines[2], lines[3]);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) add_line(&of_block[threadIdx.x % ACROSS * 4 + i], lines[i]);
  __syncthreads();
  const int64_t col = block.col / BLOCK_COLS * BLOCK_COLS + threadIdx.x;
  if (threadIdx.x < BLOCK_COLS && col < work.cols)
    add_line(&work.lines[block.lane * work.step + col], line_at(&of_block[threadIdx.x]));
}

constexpr int COUNT_THREADS = 256;

__global__ void __launch_bounds__(COUNT_THREADS)
    count_lines(const dm_split_line *lines, int64_t n, dm_split_count *count) {
  const int64_t i = (int64_t)blockIdx.x * COUNT_THREADS + threadIdx.x;
  if (i < n) count_native(count, dm_split_exponent(line_at(&lines[i])));
}

/* The second row of complex numbers x + iy. */
__device__ __forceinline__ float4 turned(const float4 &four) {
  return {-four.y, four.x, -four.w, four.z};
}

template <bool COMPLEX>
__global__ void __launch_bounds__(ACROSS *DOWN) split_columns(const PanelWork work) {
  /* in reverse order: the most recently scanned blocks may still be in the cache */
  const Block block(work, gridDim.x - 1 - blockIdx.x);
  const int64_t first = block.lane * work.step + block.col;
  float scale[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const bool inside = block.col + i < work.cols;
    const int32_t s = inside ? dm_split_exponent(line_at(&work.lines[first + i])) : 0;
    scale[i] = dm_split_scale(s);
    if (inside && block.row == block.lane * work.depth) {
      work.exponents[first + i] = s;
      if (!COMPLEX || i % 2 == 0) count_native(work.count, s);
    }
  }
  if (block.col >= work.cols) return;
#pragma unroll 8
  for (int64_t row = block.row; row < block.end; row += DOWN) {
    const float4 four = load_four(work, row, block.col);
    store_four(work, COMPLEX ? 2 * row : row, block.col, four, scale);
    if (COMPLEX) store_four(work, 2 * row + 1, block.col, turned(four), scale);
  }
}

/* ---- launching ---- */

int64_t parts_of(const dm_split *s) {
  return s->from.dtype == DM_C64 ? 2 : 1;
}

/* Whether it can be looked at. */
bool is_there(const dm_split *s) {
  const dm_split_parts &to = s->to;
  const int64_t parts = parts_of(s);
  return (parts == 2 || s->from.dtype == DM_F32) && s->from.col_stride == 1 &&
         to.rows == parts * s->from.rows && to.cols == parts * s->from.cols && to.rows >= 1 &&
         to.cols >= 1 && s->depth >= 0 && s->depth % BLOCK_ROWS == 0 &&
         (s->depth == 0 || s->step >= to.cols);
}

bool fits(const dm_split *s) {
  const dm_split_parts &to = s->to;
  const uint64_t bases = (uint64_t)(uintptr_t)to.high | (uint64_t)(uintptr_t)to.low;
  return is_there(s) && bases % 128 == 0 && to.stride % DM_SPLIT_ROW == 0 && to.stride >= to.cols;
}

PanelWork work_of(const dm_split *s) {
  const dm_view from = s->from;
  const int64_t stride = parts_of(s) * from.row_stride;
  return {static_cast<const float *>(from.base),
          from.rows,
          s->to.cols,
          stride,
          (uintptr_t)from.base % 16 == 0 && (from.rows == 1 || stride % 4 == 0),
          static_cast<__half *>(s->to.high),
          static_cast<__half *>(s->to.low),
          s->to.stride,
          s->to.exponents,
          s->lines,
          s->depth > 0 ? s->depth : INT64_MAX,
          s->step,
          s->count};
}

typedef void ColumnKernel(const PanelWork work);

cudaError_t start_columns(const dm_split *s, ColumnKernel *kernel) {
  const PanelWork work = work_of(s);
  const int64_t blocks = divide_up(work.cols, BLOCK_COLS) * divide_up(work.rows, BLOCK_ROWS);
  if (blocks > INT32_MAX) return cudaErrorInvalidValue;
  kernel<<<(unsigned)blocks, ACROSS * DOWN, 0, s->stream>>>(work);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_split_rows(const dm_split *s) {
  if (!fits(s) || parts_of(s) > 1 || s->to.cols > DM_SPLIT_DEPTH || s->to.rows > INT32_MAX)
    return cudaErrorInvalidValue;
  split_rows<<<(unsigned)s->to.rows, ROW_THREADS, 0, s->stream>>>(work_of(s));
  return cudaGetLastError();
}

cudaError_t dm_kernels_split_look(const dm_split *s) {
  if (!is_there(s)) return cudaErrorInvalidValue;
  return start_columns(s, parts_of(s) == 2 ? look_at_columns<true> : look_at_columns<false>);
}

cudaError_t dm_kernels_split_columns(const dm_split *s) {
  if (!fits(s)) return cudaErrorInvalidValue;
  return start_columns(s, parts_of(s) == 2 ? split_columns<true> : split_columns<false>);
}

cudaError_t dm_kernels_split_count(const dm_split_line *lines, int64_t n, dm_split_count *count,
                                   cudaStream_t stream) {
  const int64_t blocks = divide_up(n, COUNT_THREADS);
  if (blocks < 1 || blocks > INT32_MAX) return cudaErrorInvalidValue;
  count_lines<<<(unsigned)blocks, COUNT_THREADS, 0, stream>>>(lines, n, count);
  return cudaGetLastError();
}
