/* Computes in f32 what a product of split operands leaves out: the rows and columns of C for which
 * core/split.h has no exponents (native lines).
 *
 * Most groups of 64 neighbouring lines have no native line, or only a few: those are gathered, 8 at
 * once, and all of B (or A) is read once for them.  Groups with more are multiplied in tiles.  The
 * choice depends only on the 64 lines, so the bits do not change if C is cut at multiples of 64.
 * Sums start with 0 and are added to C at the end. */
#include "kernels/helpers/matrix.cuh"
#include "kernels/split_kernels.h"

namespace {

constexpr int GROUP = 64, FEW = 8; /* lines of a group; at most this many are few */
constexpr int THREADS = 256, WARPS = THREADS / 32;
constexpr int LINES = 8, DEEP = 256; /* lines gathered at once, for this much of k */

struct NativeWork {
  Product<float> product;
  int32_t *rows, *cols;
  int32_t *few_rows, *few_cols; /* lists */
  dm_split_count *count;
  bool wide_b;
};

/* An element of B; COMPLEX: x + iy is x, y in one row and -y, x in the next. */
template <bool COMPLEX>
__device__ __forceinline__ float load_b(const Matrix<const float> &b, int64_t row, int64_t col) {
  if (!COMPLEX) return load<float>(b, row, col);
  const float part = load<float>(b, row / 2, row % 2 == 1 ? col ^ 1 : col);
  return row % 2 == 1 && col % 2 == 0 ? -part : part;
}

/* ---- finding native lines ---- */

/* A warp for each GROUP of rows, then of columns. */
__global__ void __launch_bounds__(THREADS) sort_lines(const NativeWork work) {
  if (work.count->now == 0) return;
  const Matrix<float> &c = work.product.c;
  const int64_t of_rows = (c.rows + GROUP - 1) / GROUP, of_cols = (c.cols + GROUP - 1) / GROUP;
  int64_t group = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  const bool are_rows = group < of_rows;
  if (!are_rows) group -= of_rows;
  if (!are_rows && group >= of_cols) return; /* for the whole warp */
  const int64_t lines = are_rows ? c.rows : c.cols;
  int32_t *exponents = are_rows ? work.rows : work.cols;
  int32_t *list = are_rows ? work.few_rows : work.few_cols;
  unsigned *listed = are_rows ? &work.count->few_rows : &work.count->few_cols;
  bool native[GROUP / 32];
  int count = 0;
#pragma unroll
  for (int i = 0; i < GROUP / 32; i++) {
    const int64_t line = group * GROUP + 32 * i + threadIdx.x % 32;
    native[i] = line < lines && exponents[line] == DM_SPLIT_NATIVE;
    count += __popc(__ballot_sync(~0u, native[i]));
  }
#pragma unroll
  for (int i = 0; i < GROUP / 32; i++) {
    const int64_t line = group * GROUP + 32 * i + threadIdx.x % 32;
    if (native[i] && count > FEW) exponents[line] = DM_SPLIT_MANY;
    if (native[i] && count <= FEW) list[atomicAdd(listed, 1u)] = (int32_t)line;
  }
  if (count > FEW) work.count->many = 1;
}

/* ---- a few rows: a block for 64 columns ---- */

constexpr int COLS = 64, ACROSS = COLS / 4, PHASES = THREADS / ACROSS;

union RowMemory {
  float a[LINES][DEEP];
  float sums[PHASES][LINES][COLS];
};

template <bool COMPLEX>
__device__ __forceinline__ void load_four(const NativeWork &work, int64_t row, int64_t col,
                                          float (&four)[4]) {
  const Matrix<const float> &b = work.product.b;
  if (work.wide_b && col + 4 <= b.cols) {
    const float4 all = *reinterpret_cast<const float4 *>(&b.at(COMPLEX ? row / 2 : row, col));
    const bool turned = COMPLEX && row % 2 == 1;
    four[0] = turned ? -all.y : all.x, four[1] = turned ? all.x : all.y;
    four[2] = turned ? -all.w : all.z, four[3] = turned ? all.z : all.w;
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) four[e] = load_b<COMPLEX>(b, row, col + e);
  }
}

/* Multiplies COUNT rows of the list; thread (x, phase) has 4 columns and every PHASES-th k. */
template <bool COMPLEX>
__device__ __forceinline__ void multiply_rows(const NativeWork &work, RowMemory &memory,
                                              const int32_t *list, int count, int64_t first_col) {
  const Product<float> &p = work.product;
  const int x = threadIdx.x % ACROSS, phase = threadIdx.x / ACROSS;
  float sums[LINES][4] = {};
  for (int64_t k = 0; k < p.a.cols; k += DEEP) {
    __syncthreads();
    for (int i = threadIdx.x; i < count * DEEP; i += THREADS)
      memory.a[i / DEEP][i % DEEP] = load<float>(p.a, list[i / DEEP], k + i % DEEP);
    __syncthreads();
    const int deep = (int)min((int64_t)DEEP, p.a.cols - k);
#pragma unroll 4
    for (int l = phase; l < deep; l += PHASES) {
      float four[4];
      load_four<COMPLEX>(work, k + l, first_col + 4 * x, four);
#pragma unroll
      for (int line = 0; line < LINES; line++)
#pragma unroll
        for (int e = 0; e < 4; e++) sums[line][e] = mad(memory.a[line][l], four[e], sums[line][e]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int line = 0; line < LINES; line++)
#pragma unroll
    for (int e = 0; e < 4; e++) memory.sums[phase][line][4 * x + e] = sums[line][e];
  __syncthreads();
  for (int i = threadIdx.x; i < count * COLS; i += THREADS) {
    const int64_t col = first_col + i % COLS;
    float sum = 0.0f;
    for (int from = 0; from < PHASES; from++) sum += memory.sums[from][i / COLS][i % COLS];
    if (col < p.c.cols) p.c.at(list[i / COLS], col) += sum;
  }
}

/* ---- a few columns: a block for 32 rows ---- */

constexpr int ROWS = 32, EACH = ROWS / WARPS; /* rows per block, per warp */

/* Multiplies COUNT columns of the list; lanes run along k. */
template <bool COMPLEX>
__device__ __forceinline__ void multiply_columns(const NativeWork &work, float (&b)[LINES][DEEP],
                                                 const int32_t *list, int count,
                                                 int64_t first_row) {
  const Product<float> &p = work.product;
  const int lane = threadIdx.x % 32;
  const int64_t first = first_row + threadIdx.x / 32 * EACH;
  float sums[EACH][LINES] = {};
  for (int64_t k = 0; k < p.a.cols; k += DEEP) {
    __syncthreads();
    for (int i = threadIdx.x; i < count * DEEP; i += THREADS)
      b[i / DEEP][i % DEEP] = load_b<COMPLEX>(p.b, k + i % DEEP, list[i / DEEP]);
    __syncthreads();
    const int deep = (int)min((int64_t)DEEP, p.a.cols - k);
#pragma unroll 4
    for (int l = lane; l < deep; l += 32)
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        const float a = load<float>(p.a, first + i, k + l);
#pragma unroll
        for (int line = 0; line < LINES; line++) sums[i][line] = mad(a, b[line][l], sums[i][line]);
      }
  }
#pragma unroll
  for (int i = 0; i < EACH; i++)
#pragma unroll
    for (int line = 0; line < LINES; line++) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        sums[i][line] += __shfl_xor_sync(~0u, sums[i][line], step);
      const int64_t row = first + i;
      if (lane == 0 && line < count && row < p.c.rows && work.rows[row] < DM_SPLIT_NATIVE)
        p.c.at(row, list[line]) += sums[i][line];
    }
}

/* The first blocks multiply rows, the others columns. */
template <bool COMPLEX>
__global__ void __launch_bounds__(THREADS) multiply_few(const NativeWork work) {
  __shared__ RowMemory memory;
  const Matrix<float> &c = work.product.c;
  const int64_t strips = (c.cols + COLS - 1) / COLS, block = blockIdx.x;
  const bool are_rows = block < strips;
  const int32_t *list = are_rows ? work.few_rows : work.few_cols;
  const int all = (int)(are_rows ? work.count->few_rows : work.count->few_cols);
  for (int first = 0; first < all; first += LINES) {
    const int count = min(LINES, all - first);
    if (are_rows)
      multiply_rows<COMPLEX>(work, memory, list + first, count, block * COLS);
    else
      multiply_columns<COMPLEX>(work, memory.a, list + first, count, (block - strips) * ROWS);
  }
}

/* ---- many: in tiles ---- */

constexpr int TILE = GROUP, STEP = 16, SIDE = 4, SIDES = TILE / SIDE; /* 4 x 4 per thread */

static_assert(SIDES * SIDES == THREADS, "threads make up a tile");

__device__ __forceinline__ bool is_of_tiles(const NativeWork &work, int64_t row, int64_t col) {
  const Matrix<float> &c = work.product.c;
  if (row >= c.rows || col >= c.cols) return false;
  const int32_t s = work.rows[row];
  return s == DM_SPLIT_MANY || (work.cols[col] == DM_SPLIT_MANY && s != DM_SPLIT_NATIVE);
}

/* Whether the tile has a line of a group with many; all threads call it. */
__device__ __forceinline__ bool is_needed(const NativeWork &work, int64_t row, int64_t col) {
  const Matrix<float> &c = work.product.c;
  const int t = threadIdx.x;
  const bool needed = t < TILE ? row + t < c.rows && work.rows[row + t] == DM_SPLIT_MANY
                      : t < 2 * TILE
                          ? col + t - TILE < c.cols && work.cols[col + t - TILE] == DM_SPLIT_MANY
                          : false;
  return __syncthreads_or(needed);
}

template <bool COMPLEX>
__device__ __forceinline__ void multiply_tile(const NativeWork &work, int64_t first_row,
                                              int64_t first_col) {
  __shared__ float a[STEP][TILE + SIDE], b[STEP][TILE];
  const Product<float> &p = work.product;
  const int x = threadIdx.x % SIDES, y = threadIdx.x / SIDES;
  float sums[SIDE][SIDE] = {};
  for (int64_t k = 0; k < p.a.cols; k += STEP) {
#pragma unroll
    for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
      a[i % STEP][i / STEP] = load<float>(p.a, first_row + i / STEP, k + i % STEP);
      b[i / TILE][i % TILE] = load_b<COMPLEX>(p.b, k + i / TILE, first_col + i % TILE);
    }
    __syncthreads();
    const int deep = (int)min((int64_t)STEP, p.a.cols - k); /* skips zeros beyond the last k */
    for (int l = 0; l < deep; l++)
#pragma unroll
      for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++)
          sums[i][j] = mad(a[l][y * SIDE + i], b[l][x + j * SIDES], sums[i][j]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < SIDE; i++)
#pragma unroll
    for (int j = 0; j < SIDE; j++) {
      const int64_t row = first_row + y * SIDE + i, col = first_col + x + j * SIDES;
      if (is_of_tiles(work, row, col)) p.c.at(row, col) += sums[i][j];
    }
}

/* Blocks stride over tiles. */
template <bool COMPLEX>
__global__ void __launch_bounds__(THREADS) multiply_many(const NativeWork work) {
  if (work.count->many == 0) return;
  const Matrix<float> &c = work.product.c;
  const int64_t down = (c.rows + TILE - 1) / TILE, across = (c.cols + TILE - 1) / TILE;
  for (int64_t tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
    const int64_t row = tile / across * TILE, col = tile % across * TILE;
    if (is_needed(work, row, col)) multiply_tile<COMPLEX>(work, row, col);
  }
}

template <bool COMPLEX> cudaError_t launch(const dm_split_native *n) {
  constexpr int64_t MOST_BLOCKS = 2048; /* striding over tiles */
  const dm_view c = n->c;
  Matrix<const float> b = matrix_of<const float>(n->b);
  if (COMPLEX) b.cols *= 2, b.stride *= 2;
  const Product<float> product = {matrix_of<float>(c), matrix_of<const float>(n->a), b, true};
  const NativeWork work = {product,     n->rows,  n->cols,   n->few_rows,
                           n->few_cols, n->count, is_wide(b)};
  const int64_t groups = divide_up(c.rows, GROUP) + divide_up(c.cols, GROUP);
  const int64_t few = divide_up(c.cols, COLS) + divide_up(c.rows, ROWS);
  const int64_t tiles = divide_up(c.rows, TILE) * divide_up(c.cols, TILE);
  if (c.dtype != DM_F32 || few > INT32_MAX) return cudaErrorInvalidValue;
  sort_lines<<<(unsigned)divide_up(groups, WARPS), THREADS, 0, n->stream>>>(work);
  multiply_few<COMPLEX><<<(unsigned)few, THREADS, 0, n->stream>>>(work);
  multiply_many<COMPLEX><<<blocks_for(tiles, MOST_BLOCKS), THREADS, 0, n->stream>>>(work);
  return cudaGetLastError();
}

} // namespace

cudaError_t dm_kernels_split_native(const dm_split_native *n) {
  return n->b.dtype == DM_C64 ? launch<true>(n) : launch<false>(n);
}
