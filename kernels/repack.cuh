/* repack: copies of operands in scratch memory whose rows begin at multiples of 128 bytes, as they
 * are or transposed, for kernels that ask for either.  Elements are moved as bits. */
#ifndef DM_KERNELS_REPACK_CUH
#define DM_KERNELS_REPACK_CUH

#include "kernels/matrix.cuh"

constexpr int64_t PACKED_ROW = 128, PACKED_MATRIX = 256; /* bytes */

static inline int64_t packed_stride(int64_t cols, int64_t size) {
  return divide_up(cols * size, PACKED_ROW) * PACKED_ROW / size;
}

static inline int64_t packed_bytes(int64_t rows, int64_t cols, int64_t size) {
  return divide_up(rows * packed_stride(cols, size) * size, PACKED_MATRIX) * PACKED_MATRIX;
}

/* ---- as it is: a warp for each row ---- */

template <class Bits>
__global__ void __launch_bounds__(256) pack_rows(Matrix<Bits> to, Matrix<const Bits> from) {
  constexpr int UNROLL = 8; /* loads under way at a time */
  const int lane = threadIdx.x % 32;
  const int64_t warp = blockIdx.x * 8LL + threadIdx.x / 32, warps = gridDim.x * 8LL;
  const int64_t pieces = (from.cols + 32 * UNROLL - 1) / (32 * UNROLL);
  for (int64_t i = warp; i < from.rows * pieces; i += warps) {
    const int64_t row = i / pieces, col = i % pieces * (32 * UNROLL) + lane;
    Bits bits[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (col + 32 * u < from.cols) bits[u] = __ldcs(&from.base[row * from.stride + col + 32 * u]);
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (col + 32 * u < from.cols) to.at(row, col + 32 * u) = bits[u];
  }
}

/* ---- transposed: a block for each tile; TO is packed ---- */

/* 4 bytes: tiles of 64 x 64. */
static __device__ __forceinline__ void
transpose_tile(Matrix<uint32_t> to, Matrix<const uint32_t> from, int64_t row, int64_t col) {
  __shared__ uint32_t tile[64][65];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  row *= 64, col *= 64;
#pragma unroll
  for (int i = y; i < 64; i += 8)
#pragma unroll
    for (int j = x; j < 64; j += 32)
      if (row + i < from.rows && col + j < from.cols)
        tile[i][j] = __ldcs(&from.base[(row + i) * from.stride + col + j]);
  __syncthreads();
#pragma unroll
  for (int j = y; j < 64; j += 8)
#pragma unroll
    for (int i = x; i < 64; i += 32)
      if (row + i < from.rows && col + j < from.cols) to.at(col + j, row + i) = tile[i][j];
}

/* Bytes (0 to 3) of COL to COL + 3 of a row, the missing ones 0. */
static __device__ __forceinline__ uint32_t load_four(const Matrix<const uint8_t> &m, int64_t row,
                                                     int64_t col, bool words) {
  if (row >= m.rows || col >= m.cols) return 0;
  const uint8_t *p = &m.base[row * m.stride + col];
  if (words && col + 4 <= m.cols) return __ldcs(reinterpret_cast<const uint32_t *>(p));
  uint32_t four = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (col + i < m.cols) four |= (uint32_t)p[i] << 8 * i;
  return four;
}

/* Columns of four words become words of four rows. */
static __device__ __forceinline__ void transpose_words(uint32_t (&w)[4]) {
  const uint32_t low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const uint32_t low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

/* Bytes: tiles of 128 x 128, four by four in registers and then by words in shared memory, where
 * word q of row c lies at q XOR c / 4: no bank conflicts either way. */
static __device__ __forceinline__ void
transpose_tile(Matrix<uint8_t> to, Matrix<const uint8_t> from, int64_t row, int64_t col) {
  __shared__ uint32_t tile[128][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const bool words = ((uintptr_t)from.base | (uintptr_t)from.stride) % 4 == 0;
  row *= 128, col *= 128;
  uint32_t four[4][4];
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int l = 0; l < 4; l++)
      four[i][l] = load_four(from, row + (y + 8 * i) * 4 + l, col + 4 * x, words);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    transpose_words(four[i]);
#pragma unroll
    for (int l = 0; l < 4; l++) tile[4 * x + l][(y + 8 * i) ^ x] = four[i][l];
  }
  __syncthreads();
  for (int c = y; c < 128; c += 8) /* rows of TO are whole tiles long */
    if (col + c < from.cols)
      reinterpret_cast<uint32_t *>(&to.at(col + c, row))[x] = tile[c][x ^ c / 4];
}

template <class Bits>
__global__ void __launch_bounds__(256) pack_transposed(Matrix<Bits> to, Matrix<const Bits> from) {
  constexpr int TILE = sizeof(Bits) == 1 ? 128 : 64;
  const int64_t across = (from.cols + TILE - 1) / TILE;
  transpose_tile(to, from, blockIdx.x / across, blockIdx.x % across);
}

/* FROM, rows of COLS elements, at AT. */
template <class Bits>
cudaError_t pack(dm_view from, void *at, bool transposed, cudaStream_t stream) {
  const Matrix<const Bits> source = matrix_of<const Bits>(from);
  const int64_t rows = transposed ? from.cols : from.rows;
  const int64_t cols = transposed ? from.rows : from.cols;
  const Matrix<Bits> packed = {static_cast<Bits *>(at), rows, cols,
                               packed_stride(cols, sizeof(Bits))};
  const int tile = sizeof(Bits) == 1 ? 128 : 64;
  if (!transposed)
    pack_rows<<<blocks_for(divide_up(from.rows * divide_up(from.cols, 256), 8), 4096), 256, 0,
                stream>>>(packed, source);
  else if constexpr (sizeof(Bits) != 2)
    pack_transposed<<<blocks_for_tiles(from, tile, tile), 256, 0, stream>>>(packed, source);
  return cudaGetLastError();
}

#endif
