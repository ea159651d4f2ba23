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
#include "kernels/helpers/number.cuh"
#include "kernels/kernels.h"
#include "kernels/ladder/async_copy.cuh"
#include "kernels/ladder/hopper.cuh"

namespace {

constexpr int64_t PACKED_ROW = 128, PACKED_MATRIX = 256; /* bytes */

/* The stride of a copy, in elements of SIZE bytes, and the bytes of the whole copy. */
int64_t packed_stride(int64_t cols, int64_t size) {
  return divide_up(cols * size, PACKED_ROW) * PACKED_ROW / size;
}
int64_t packed_bytes(int64_t rows, int64_t cols, int64_t size) {
  return divide_up(rows * packed_stride(cols, size) * size, PACKED_MATRIX) * PACKED_MATRIX;
}

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

template <class Bits>
cudaError_t pack_columns(const dm_gemm_matrix &from, void *at, cudaStream_t stream) {
  const Matrix<Bits> packed = {static_cast<Bits *>(at), from.cols, from.rows,
                               packed_stride(from.rows, sizeof(Bits))};
  const int tile = sizeof(Bits) == 1 ? 128 : 64;
  pack_transposed<<<blocks_for_tiles(from, tile, tile), 256, 0, stream>>>(
      packed, matrix_of<const Bits>(from));
  return cudaGetLastError();
}

cudaError_t pack(const dm_gemm_matrix &from, int64_t size, void *at, cudaStream_t stream) {
  const Matrix<const uint8_t> source = {static_cast<const uint8_t *>(from.base), from.rows,
                                        from.cols * size, from.row_stride * size};
  const Matrix<uint8_t> packed = {static_cast<uint8_t *>(at), from.rows, source.cols,
                                  packed_stride(source.cols, 1)};
  const int64_t pieces = from.rows * divide_up(source.cols, 128 * PIECE_WORDS);
  pack_rows<<<blocks_for(divide_up(pieces, 8), 65536), 256, 0, stream>>>(packed, source);
  return cudaGetLastError();
}

/* ---- operands ---- */

/* Bytes of a copy of M; 0 if it needs none. */
int64_t copy_bytes(const dm_gemm_matrix &m, int64_t size) {
  return rows_are_aligned(m, size) ? 0 : packed_bytes(m.rows, m.cols, size);
}

/* If M is not aligned, copies it to *FREE, replaces it by the copy, and advances *FREE. */
cudaError_t align(dm_gemm_matrix *m, int64_t size, char **free, cudaStream_t stream) {
  const int64_t bytes = copy_bytes(*m, size);
  if (bytes == 0) return cudaSuccess;
  const cudaError_t error = pack(*m, size, *free, stream);
  m->base = *free, m->row_stride = packed_stride(m->cols, size);
  *free += bytes;
  return error;
}

dm_gemm_matrix transpose_of(const dm_gemm_matrix &m) {
  return {m.base, m.cols, m.rows, m.col_stride, m.row_stride};
}

/* Whether B needs a transposed copy: wgmma reads other types than 16-bit ones only along k. */
bool turns(const dm_gemm *p) {
  return p->size != 2 && !runs_along_k(p->b);
}

cudaError_t prepare_b(dm_gemm *product, char *free) {
  dm_gemm_matrix *b = &product->b;
  if (turns(product)) {
    const dm_gemm_matrix from = *b;
    b->base = free, b->row_stride = 1, b->col_stride = packed_stride(b->rows, product->size);
    return product->size == 1 ? pack_columns<uint8_t>(from, free, product->stream)
                              : pack_columns<uint32_t>(from, free, product->stream);
  }
  if (!runs_along_k(*b)) return align(b, product->size, &free, product->stream);
  dm_gemm_matrix columns = transpose_of(*b);
  const cudaError_t error = align(&columns, product->size, &free, product->stream);
  *b = transpose_of(columns);
  return error;
}

/* TMA's type of the operands; false: it is not multiplied by wgmma. */
bool find_type(const dm_gemm *product, CUtensorMapDataType *type) {
  switch (product->dtype) {
  case DM_F16:
    *type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    return true;
  case DM_BF16:
    *type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    return true;
  case DM_F32:
    *type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    return product->tf32;
  case DM_I8:
    *type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    return true;
  default:
    return false;
  }
}

} // namespace

cudaError_t dm_align_operands(dm_gemm *product) {
  char *free = static_cast<char *>(product->scratch);
  const cudaError_t error = align(&product->a, product->size, &free, product->stream);
  return error != cudaSuccess ? error : align(&product->b, product->size, &free, product->stream);
}

cudaError_t dm_prepare_for_tma(dm_gemm *product, CUtensorMapDataType *type) {
  if (!find_type(product, type)) return cudaErrorInvalidValue;
  char *free = static_cast<char *>(product->scratch);
  const cudaError_t error = align(&product->a, product->size, &free, product->stream);
  return error != cudaSuccess ? error : prepare_b(product, free);
}

cudaError_t dm_prepare_rows_for_tma(dm_gemm *product, CUtensorMapDataType *type) {
  if (product->size != 2 || !find_type(product, type)) return cudaErrorInvalidValue;
  return dm_align_operands(product);
}

int64_t dm_kernels_padded_stride(dm_view from) {
  return packed_stride(from.cols, size_of(from.dtype));
}

cudaError_t dm_kernels_pad(dm_view from, int64_t cols, void *to, cudaStream_t stream) {
  const int64_t size = size_of(from.dtype), begin = from.cols * size, end = cols * size;
  const size_t pitch = (size_t)(dm_kernels_padded_stride(from) * size);
  const cudaError_t error =
      begin == end ? cudaSuccess
                   : cudaMemset2DAsync(static_cast<char *>(to) + begin, pitch, 0,
                                       (size_t)(end - begin), (size_t)from.rows, stream);
  const dm_gemm_matrix rows = {from.base, from.rows, from.cols, from.row_stride, 1};
  return error != cudaSuccess ? error : pack(rows, size, to, stream);
}

int64_t dm_kernels_aligned_scratch(const dm_gemm *product) {
  if (product->dtype == DM_F64) return 0; /* needs no alignment: 19_mma_f64.cu */
  return copy_bytes(product->a, product->size) + copy_bytes(product->b, product->size);
}

int64_t dm_kernels_tma_scratch(const dm_gemm *product) {
  const dm_gemm_matrix &b = product->b;
  const int64_t of_b = turns(product)    ? packed_bytes(b.cols, b.rows, product->size)
                       : runs_along_k(b) ? copy_bytes(transpose_of(b), product->size)
                                         : copy_bytes(b, product->size);
  return copy_bytes(product->a, product->size) + of_b;
}
