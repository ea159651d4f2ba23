/* residue_tile: the tiles of a product of residues: their shape, order and position in C, and the
 * epilogue, which reduces sums to residues.
 *
 * Columns of B are permuted (dm_residue_place) such that each thread has sums of 16 neighbouring
 * columns of C: it stores residues from registers to global memory, 16 bytes at once. */
#ifndef DM_KERNELS_RESIDUE_TILE_CUH
#define DM_KERNELS_RESIDUE_TILE_CUH

#define DM_WGMMA_DEVICE_PART
#include "kernels/ladder/21_wgmma.cu"
#include "kernels/residues/modulus.cuh"

/* A block computes 128 x 192 and stores residues while it multiplies the next tile; two blocks, one
 * above the other, share their columns of B. */
typedef WgmmaShape<2, 192, 5, 2, 1, 1, 1, true> ResidueShape;

struct ResidueMemory {
  char a[ResidueShape::STAGES][ResidueShape::A_BYTES];
  char b[ResidueShape::STAGES][ResidueShape::B_BYTES];
  uint64_t full[ResidueShape::STAGES], empty[ResidueShape::STAGES];
};

struct ResidueWork {
  CUtensorMap a, b;
  TileOrder order;        /* of the tiles of one modulus */
  int count, m, n, steps; /* count: moduli; steps of 128 bytes along k */
  int a_plane_rows, b_plane_rows;
  int8_t *c;
  int64_t row_stride, plane;
  int alignment; /* of C: 16, 8 or 1 */
  bool accumulate;
  ModulusTable moduli;
};

/* The sequence of a block's tiles. */
struct ResidueTile {
  int index, x, row, col; /* x: its modulus; row, col: its corner */

  __device__ __forceinline__ explicit ResidueTile(const ResidueWork &work)
      : index(blockIdx.x / ResidueShape::CLUSTER) {
    find(work);
  }
  __device__ __forceinline__ bool exists(const ResidueWork &work) const {
    return x < work.count;
  }
  __device__ __forceinline__ void next(const ResidueWork &work) {
    index += gridDim.x / ResidueShape::CLUSTER;
    find(work);
  }
  __device__ __forceinline__ void find(const ResidueWork &work) {
    const int tiles = work.order.count();
    x = index / tiles;
    work.order.find(index - x * tiles, &row, &col);
    row = (row * ResidueShape::DOWN + rank_in_cluster()) * ResidueShape::BM;
    col *= ResidueShape::BN;
  }
};

/* ---- a thread's part of a tile: runs of 16 columns ----
 *
 * PARTS: bytes per element of C: 2 for complex numbers, whose imaginary part follows the real one.
 * These become known one after the other: each part of a run is stored in its turn, with the other
 * part as it was. */

constexpr int RUN = 16, RUNS = ResidueShape::SUMS / RUN;

/* The residues of a run of C. */
template <int PARTS> struct Run { uint32_t word[4 * PARTS]; };

template <int PARTS> struct Place {
  int x, row, col; /* position of the first run */

  __device__ __forceinline__ Place(int x, int tile_row, int tile_col) : x(x) {
    const int thread = threadIdx.x - 128; /* number among multiplying threads */
    row = tile_row + thread / 32 * 16 + thread % 32 / 4;
    col = tile_col + thread % 4 * RUN;
  }
  /* Runs alternate between two rows, then move to the next group of columns. */
  __device__ __forceinline__ int row_of(int run) const {
    return row + run % 2 * 8;
  }
  __device__ __forceinline__ int col_of(int run) const {
    return col + run / 2 * (4 * RUN);
  }
  __device__ __forceinline__ bool is_inside(const ResidueWork &work, int run) const {
    return row_of(run) < work.m && col_of(run) < work.n;
  }
  __device__ __forceinline__ int8_t *at(const ResidueWork &work, int run) const {
    return work.c + row_of(run) * work.row_stride + x * work.plane + PARTS * col_of(run);
  }
  /* Bytes of C from a run to the end of its row. */
  __device__ __forceinline__ int bytes_from(const ResidueWork &work, int run) const {
    return PARTS * (work.n - col_of(run));
  }
};

/* Loads the bytes at FROM, of which COUNT exist, one by one. */
static __device__ __forceinline__ uint4 load_bytes(const int8_t *from, int count) {
  uint64_t low = 0, high = 0;
#pragma unroll 1
  for (int i = 0; i < min(count, RUN); i++) {
    const uint64_t byte = (uint64_t)(uint8_t)from[i] << i % 8 * 8;
    (i < 8 ? low : high) |= byte;
  }
  return {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
}

static __device__ __forceinline__ void store_bytes(int8_t *to, uint4 run, int count) {
  const uint64_t low = run.x | (uint64_t)run.y << 32, high = run.z | (uint64_t)run.w << 32;
#pragma unroll 1
  for (int i = 0; i < min(count, RUN); i++) to[i] = (int8_t)((i < 8 ? low : high) >> i % 8 * 8);
}

/* Loads 16 bytes of C, of which COUNT exist. */
static __device__ __forceinline__ uint4 load_piece(const ResidueWork &work, const int8_t *from,
                                                   int count) {
  if (count < RUN || work.alignment < 8) return load_bytes(from, count);
  if (work.alignment == 16) return *reinterpret_cast<const uint4 *>(from);
  const uint2 low = *reinterpret_cast<const uint2 *>(from);
  const uint2 high = *reinterpret_cast<const uint2 *>(from + 8);
  return {low.x, low.y, high.x, high.y};
}

static __device__ __forceinline__ void store_piece_of(const ResidueWork &work, int8_t *to,
                                                      uint4 piece, int count) {
  if (count < RUN || work.alignment < 8) {
    store_bytes(to, piece, count);
  } else if (work.alignment == 16) {
    *reinterpret_cast<uint4 *>(to) = piece;
  } else {
    *reinterpret_cast<uint2 *>(to) = {piece.x, piece.y};
    *reinterpret_cast<uint2 *>(to + 8) = {piece.z, piece.w};
  }
}

/* The old residues of a run, before its part PART is stored; 0 where C is overwritten. */
template <int PART, int PARTS>
static __device__ __forceinline__ Run<PARTS> load_run(const ResidueWork &work,
                                                      const Place<PARTS> &place, int run) {
  Run<PARTS> old = {};
  if ((work.accumulate || PART > 0) && place.is_inside(work, run))
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      const uint4 piece =
          load_piece(work, place.at(work, run) + i * RUN, place.bytes_from(work, run) - i * RUN);
      old.word[4 * i] = piece.x, old.word[4 * i + 1] = piece.y;
      old.word[4 * i + 2] = piece.z, old.word[4 * i + 3] = piece.w;
    }
  return old;
}

/* OLD with part PART of two complex numbers replaced by the highest bytes of FIRST and SECOND. */
template <int PART>
static __device__ __forceinline__ uint32_t with_parts(uint32_t old, uint32_t first,
                                                      uint32_t second) {
  return __byte_perm(__byte_perm(first, second, 0x0073), old, PART == 0 ? 0x7150 : 0x1604);
}

/* Reduces columns 4 QUAD to 4 QUAD + 3 of a run; see Wgmma for the layout of D. */
template <int PART, int PARTS>
static __device__ __forceinline__ void reduce_four(const Modulus &m, const int32_t *d, int run,
                                                   int quad, Run<PARTS> &residues) {
  uint32_t *words = residues.word + PARTS * quad, four[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int32_t sum = d[run / 2 * 32 + (4 * quad + i) / 2 * 4 + run % 2 * 2 + i % 2];
    const int byte = PARTS * i + PART;
    four[i] = reduce(m, sum, (int8_t)(words[byte / 4] >> 8 * (byte % 4)));
  }
  if (PARTS == 1) {
    words[0] = highest_bytes(four);
  } else {
    words[0] = with_parts<PART>(words[0], four[0], four[1]);
    words[1] = with_parts<PART>(words[1], four[2], four[3]);
  }
}

/* RESIDUES: the old ones. */
template <int PART, int PARTS>
static __device__ __forceinline__ void store_run(const ResidueWork &work, const Place<PARTS> &place,
                                                 const int32_t *d, int run, Run<PARTS> residues) {
  if (place.is_inside(work, run)) {
    const Modulus &m = work.moduli.at[place.x];
#pragma unroll
    for (int quad = 0; quad < 4; quad++) reduce_four<PART>(m, d, run, quad, residues);
    const uint32_t *words = residues.word;
#pragma unroll
    for (int i = 0; i < PARTS; i++)
      store_piece_of(work, place.at(work, run) + i * RUN,
                     {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]},
                     place.bytes_from(work, run) - i * RUN);
  }
  __syncwarp(); /* products need converged warps */
}

/* Prefetches C to the L2 cache long before it is loaded. */
template <int PARTS>
static __device__ __forceinline__ void prefetch_runs(const ResidueWork &work,
                                                     const Place<PARTS> &place) {
  if (work.accumulate)
#pragma unroll
    for (int run = 0; run < RUNS; run++)
      if (place.is_inside(work, run))
        asm volatile("prefetch.global.L2 [%0];" ::"l"(place.at(work, run)));
  __syncwarp();
}

#endif
