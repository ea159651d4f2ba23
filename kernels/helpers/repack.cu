/* repack: copies operands to scratch memory, transposed or not, with rows that begin at multiples
 * of 128 bytes (or more).
 *
 * Kernels that fill shared memory in pieces of 16 bytes need them aligned in global memory too.
 * Rows of 8191 bf16 are not, and loads without alignment would slow down the inner loop of a kernel
 * that reads every operand many times.  A copy reads them only once more: O(mk + kn) against
 * O(mnk).
 *
 * Rows are read in aligned words of 4 bytes, wherever they begin: each lane combines its word with
 * the one of the next lane. */
#include "kernels/helpers/repack.cuh"

namespace {

/* A row of BYTES bytes, as words from the aligned address at or before its start. */
struct WordRow {
  const uint32_t *words;
  int shift; /* bytes before the row in its first word */
  int64_t bytes;

  __device__ __forceinline__ WordRow(const uint8_t *row, int64_t count)
      : words(reinterpret_cast<const uint32_t *>((uintptr_t)row / 4 * 4)),
        shift((int)((uintptr_t)row % 4)), bytes(count) {
  }

  /* Word I with bytes outside the row replaced by 0, and not read. */
  __device__ __forceinline__ uint32_t at(int64_t i) const {
    const int64_t first = 4 * i - shift; /* byte of the row */
    if (first >= 0 && first + 4 <= bytes) return __ldcs(&words[i]);
    uint32_t word = 0;
    for (int b = 0; b < 4; b++)
      if (first + b >= 0 && first + b < bytes)
        word |= (uint32_t) reinterpret_cast<const uint8_t *>(&words[i])[b] << 8 * b;
    return word;
  }
};

/* Word I + lane of the row for each lane, from words I + lane and I + lane + 1 in memory.
 * FOLLOWING: the word after the last lane's. */
__device__ __forceinline__ uint32_t shifted(const WordRow &row, uint32_t word, uint32_t following) {
  const int lane = threadIdx.x % 32;
  uint32_t next = __shfl_down_sync(0xFFFFFFFF, word, 1);
  if (lane == 31) next = following;
  return __funnelshift_r(word, next, 8 * row.shift);
}

/* ---- not transposed: a warp for each piece of a row ---- */

constexpr int PIECE_WORDS = 8; /* per thread: loads in flight */

__global__ void __launch_bounds__(256) pack_rows(Matrix<uint8_t> to, Matrix<const uint8_t> from) {
  const int lane = threadIdx.x % 32;
  const int64_t words = (from.cols + 3) / 4;
  const int64_t pieces = (words + 32 * PIECE_WORDS - 1) / (32 * PIECE_WORDS);
  const int64_t warps = gridDim.x * 8LL;
  for (int64_t i = blockIdx.x * 8LL + threadIdx.x / 32; i < from.rows * pieces; i += warps) {
    const int64_t row = i / pieces, first = i % pieces * (32 * PIECE_WORDS);
    const WordRow source(&from.base[row * from.stride], from.cols);
    uint32_t word[PIECE_WORDS + 1];
#pragma unroll
    for (int u = 0; u < PIECE_WORDS; u++) word[u] = source.at(first + 32 * u + lane);
    word[PIECE_WORDS] = lane == 0 ? source.at(first + 32 * PIECE_WORDS) : 0;
    uint32_t *target = reinterpret_cast<uint32_t *>(&to.base[row * to.stride]);
#pragma unroll
    for (int u = 0; u < PIECE_WORDS; u++) {
      const uint32_t following = __shfl_sync(0xFFFFFFFF, word[u + 1], 0);
      const uint32_t value = shifted(source, word[u], following);
      if (first + 32 * u + lane < words) target[first + 32 * u + lane] = value;
    }
  }
}

/* ---- transposed: a block for each tile; TO is packed ---- */

/* Elements of 4 bytes: tiles of 64 x 64. */
__device__ __forceinline__ void transpose_tile(Matrix<uint32_t> to, Matrix<const uint32_t> from,
                                               int64_t row, int64_t col) {
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

/* Columns of four words become words of four rows. */
__device__ __forceinline__ void transpose_words(uint32_t (&w)[4]) {
  const uint32_t low01 = __byte_perm(w[0], w[1], 0x5140), high01 = __byte_perm(w[0], w[1], 0x7362);
  const uint32_t low23 = __byte_perm(w[2], w[3], 0x5140), high23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low01, low23, 0x5410);
  w[1] = __byte_perm(low01, low23, 0x7632);
  w[2] = __byte_perm(high01, high23, 0x5410);
  w[3] = __byte_perm(high01, high23, 0x7632);
}

/* Bytes: tiles of 128 x 128, transposed as blocks of 4 x 4 in registers, then as words in shared
 * memory.  Word q of row c is stored at q XOR c / 4: neither side has bank conflicts. */
__device__ __forceinline__ void transpose_tile(Matrix<uint8_t> to, Matrix<const uint8_t> from,
                                               int64_t row, int64_t col) {
  __shared__ uint32_t tile[128][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  row = row * 128 + 4 * y, col *= 128;
  const bool inside = row - 4 * y + 128 <= from.rows && col >= 4 && col + 136 <= from.cols;
  uint32_t word[4][4], following[4][4];
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const int64_t r = row + i / 4 * 32 + i % 4;
    const WordRow source(&from.base[r * from.stride], r < from.rows ? from.cols : 0);
    const int64_t next = col / 4 + 32;
    uint32_t &w = word[i / 4][i % 4], &f = following[i / 4][i % 4];
    if (inside) { /* no conditions between the loads */
      w = __ldcs(&source.words[col / 4 + x]);
      f = x == 31 ? __ldcs(&source.words[next]) : 0;
    } else {
      w = source.at(col / 4 + x);
      f = x == 31 ? source.at(next) : 0;
    }
  }
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const WordRow source(&from.base[(row + i / 4 * 32 + i % 4) * from.stride], 0);
    word[i / 4][i % 4] = shifted(source, word[i / 4][i % 4], following[i / 4][i % 4]);
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    transpose_words(word[i]);
#pragma unroll
    for (int l = 0; l < 4; l++) tile[4 * x + l][(y + 8 * i) ^ x] = word[i][l];
  }
  __syncthreads();
  row -= 4 * y;
#pragma unroll 4
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

template <class Bits> cudaError_t pack_columns(dm_view from, void *at, cudaStream_t stream) {
  const Matrix<Bits> packed = {static_cast<Bits *>(at), from.cols, from.rows,
                               packed_stride(from.rows, sizeof(Bits))};
  const int tile = sizeof(Bits) == 1 ? 128 : 64;
  pack_transposed<<<blocks_for_tiles(from, tile, tile), 256, 0, stream>>>(
      packed, matrix_of<const Bits>(from));
  return cudaGetLastError();
}

/* Bytes of a copy of M; 0 if it needs none. */
int64_t copy_bytes(dm_view m) {
  const int64_t size = size_of(m.dtype);
  return rows_are_aligned(m, size) ? 0 : packed_bytes(m.rows, m.cols, size);
}

/* If M is not aligned, copies it to MEMORY and replaces it by the copy. */
cudaError_t align(dm_view *m, void *memory, cudaStream_t stream) {
  if (copy_bytes(*m) == 0) return cudaSuccess;
  const cudaError_t error = dm_pack(*m, memory, PACKED_ROW, stream);
  m->base = memory;
  m->row_stride = packed_stride(m->cols, size_of(m->dtype));
  return error;
}

} // namespace

cudaError_t dm_pack(dm_view from, void *at, int64_t row, cudaStream_t stream) {
  const int64_t size = size_of(from.dtype);
  const Matrix<const uint8_t> source = {static_cast<const uint8_t *>(from.base), from.rows,
                                        from.cols * size, from.row_stride * size};
  const Matrix<uint8_t> packed = {static_cast<uint8_t *>(at), from.rows, source.cols,
                                  packed_stride(source.cols, 1, row)};
  const int64_t pieces = from.rows * divide_up(source.cols, 128 * PIECE_WORDS);
  pack_rows<<<blocks_for(divide_up(pieces, 8), 65536), 256, 0, stream>>>(packed, source);
  return cudaGetLastError();
}

cudaError_t dm_pack_transposed(dm_view from, void *at, cudaStream_t stream) {
  return size_of(from.dtype) == 1 ? pack_columns<uint8_t>(from, at, stream)
                                  : pack_columns<uint32_t>(from, at, stream);
}

int64_t dm_kernels_aligned_scratch(const dm_product *product) {
  if (product->a.dtype == DM_F64) return 0; /* needs no alignment: 19_mma_f64.cu */
  return copy_bytes(product->a) + copy_bytes(product->b);
}

cudaError_t dm_align_operands(dm_product *product) {
  char *const memory = static_cast<char *>(product->scratch);
  const int64_t a_bytes = copy_bytes(product->a);
  const cudaError_t error = align(&product->a, memory, product->stream);
  return error != cudaSuccess ? error : align(&product->b, memory + a_bytes, product->stream);
}
