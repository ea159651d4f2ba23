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

/* ---- a thread's part of a tile: runs of 16 columns ---- */

constexpr int RUN = 16, RUNS = ResidueShape::SUMS / RUN;

struct Place {
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
    return work.c + row_of(run) * work.row_stride + x * work.plane + col_of(run);
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

/* The old residues of a run; 0 without accumulation. */
static __device__ __forceinline__ uint4 load_run(const ResidueWork &work, const Place &place,
                                                 int run) {
  uint4 old = {0, 0, 0, 0};
  if (work.accumulate && place.is_inside(work, run)) {
    const int8_t *from = place.at(work, run);
    const int count = work.n - place.col_of(run);
    if (count < RUN || work.alignment < 8) {
      old = load_bytes(from, count);
    } else if (work.alignment == 16) {
      old = *reinterpret_cast<const uint4 *>(from);
    } else {
      const uint2 low = *reinterpret_cast<const uint2 *>(from);
      const uint2 high = *reinterpret_cast<const uint2 *>(from + 8);
      old = {low.x, low.y, high.x, high.y};
    }
  }
  return old;
}

static __device__ __forceinline__ void keep_run(const ResidueWork &work, const Place &place,
                                                int run, uint4 residues) {
  int8_t *to = place.at(work, run);
  const int count = work.n - place.col_of(run);
  if (count < RUN || work.alignment < 8) {
    store_bytes(to, residues, count);
  } else if (work.alignment == 16) {
    *reinterpret_cast<uint4 *>(to) = residues;
  } else {
    *reinterpret_cast<uint2 *>(to) = {residues.x, residues.y};
    *reinterpret_cast<uint2 *>(to + 8) = {residues.z, residues.w};
  }
}

/* Reduces columns 4 PART to 4 PART + 3 of a run; see Wgmma for the layout of D. */
static __device__ __forceinline__ uint32_t reduce_four(const Modulus &m, const int32_t *d, int run,
                                                       int part, uint32_t old) {
  uint32_t residues[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int32_t sum = d[run / 2 * 32 + (4 * part + i) / 2 * 4 + run % 2 * 2 + i % 2];
    residues[i] = reduce(m, sum, (int8_t)(old >> 8 * i));
  }
  return highest_bytes(residues);
}

static __device__ __forceinline__ void store_run(const ResidueWork &work, const Place &place,
                                                 const int32_t *d, int run, uint4 old) {
  if (place.is_inside(work, run)) {
    const Modulus &m = work.moduli.at[place.x];
    const uint4 residues = {reduce_four(m, d, run, 0, old.x), reduce_four(m, d, run, 1, old.y),
                            reduce_four(m, d, run, 2, old.z), reduce_four(m, d, run, 3, old.w)};
    keep_run(work, place, run, residues);
  }
  __syncwarp(); /* products need converged warps */
}

/* Prefetches C to the L2 cache long before it is loaded. */
static __device__ __forceinline__ void prefetch_runs(const ResidueWork &work, const Place &place) {
  if (work.accumulate)
#pragma unroll
    for (int run = 0; run < RUNS; run++)
      if (place.is_inside(work, run))
        asm volatile("prefetch.global.L2 [%0];" ::"l"(place.at(work, run)));
  __syncwarp();
}

#endif
