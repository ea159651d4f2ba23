/* Products of residues: C = (C +) A B modulo each modulus, one byte per element.
 *
 * The idea: ladder/21_wgmma.cu for int8 and all moduli in one launch, but 32-bit sums never leave
 * the registers.  They are reduced there to residues (modulus.cuh), a quarter of the bytes, while
 * the tensor cores multiply the next tile.  Tiles are ordered by modulus, and within one to suit
 * the L2 cache: concurrent blocks share planes. */
#include "kernels/residue_kernels.h"
#include "kernels/residues/residue_tile.cuh"

namespace {

typedef ResidueShape Shape;

constexpr ModulusTable TABLE = modulus_table();

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* ---- loading: one thread ---- */

__device__ __forceinline__ void load_stages(const ResidueWork &work, ResidueMemory &memory) {
  Ring<Shape::STAGES> ring;
  const int part = rank_in_cluster() * (Shape::BN / Shape::DOWN); /* of B, for both blocks */
  for (ResidueTile tile(work); tile.exists(work); tile.next(work)) {
    const int a_row = tile.x * work.a_plane_rows + tile.row;
    const int b_row = tile.x * work.b_plane_rows + tile.col + part;
    for (int step = 0; step < work.steps; step++, ring.next()) {
      uint64_t *full = &memory.full[ring.stage];
      wait(&memory.empty[ring.stage], ring.parity ^ 1);
      arrive_expecting(full, Shape::A_BYTES + Shape::B_BYTES);
      load_box(memory.a[ring.stage], &work.a, step * BOX_ROW, a_row, full);
      load_shared_box<Shape::DOWN, 1>(memory.b[ring.stage] + part * BOX_ROW, &work.b,
                                      step * BOX_ROW, b_row, full);
    }
  }
}

/* ---- multiplying: a warpgroup ---- */

struct Multiplier {
  const ResidueWork &work;
  ResidueMemory &memory;
  int warpgroup;
  Ring<Shape::STAGES> ring;

  /* Releases the stage before the current one. */
  __device__ __forceinline__ void release_before() {
    release<Shape>(&memory.empty[ring.stage > 0 ? ring.stage - 1 : Shape::STAGES - 1]);
  }

  /* Issues the products of a stage while those of the previous stage still run. */
  __device__ __forceinline__ void step(int32_t (&d)[Shape::SUMS], bool keep) {
    wait(&memory.full[ring.stage], ring.parity);
    multiply_stage<int8_t, false, Shape>(d, memory.a[ring.stage] + warpgroup * 64 * BOX_ROW,
                                         memory.b[ring.stage], keep);
    wait_for_products<1>();
    if (keep) release_before();
    ring.next();
  }
};

__device__ __forceinline__ void store_runs(const ResidueWork &work, const int32_t *d,
                                           const Place &place) {
#pragma unroll
  for (int run = 0; run < RUNS; run++) store_run(work, place, d, run, load_run(work, place, run));
}

/* NOW = the sums of the tile at HERE; meanwhile stores BEFORE, the sums of the tile at THERE. */
__device__ __forceinline__ void multiply_tile(Multiplier &multiplier, int32_t (&now)[Shape::SUMS],
                                              const int32_t (&before)[Shape::SUMS],
                                              const Place &here, const Place &there) {
  const ResidueWork &work = multiplier.work;
  int step = 0;
  prefetch_runs(work, here);
  if (work.steps >= RUNS) {
    uint4 old = load_run(work, there, 0);
#pragma unroll
    for (int run = 0; run < RUNS; run++) {
      multiplier.step(now, run > 0);
      const uint4 present = old;
      if (run + 1 < RUNS) old = load_run(work, there, run + 1);
      store_run(work, there, before, run, present);
    }
    step = RUNS;
  } else {
    store_runs(work, before, there);
  }
  for (; step < work.steps; step++) multiplier.step(now, step > 0);
  wait_for_products<0>();
  pin(now);
  multiplier.release_before();
}

__device__ __forceinline__ void multiply_tiles(const ResidueWork &work, ResidueMemory &memory) {
  Multiplier multiplier = {work, memory, (int)threadIdx.x / 128 - 1, {}};
  int32_t even[Shape::SUMS], odd[Shape::SUMS];
  ResidueTile tile(work);
  Place there(0, work.m, 0); /* there is nothing to store yet */
  while (true) {
    Place here(tile.x, tile.row, tile.col);
    multiply_tile(multiplier, even, odd, here, there);
    tile.next(work);
    if (!tile.exists(work)) {
      store_runs(work, even, here);
      break;
    }
    there = Place(tile.x, tile.row, tile.col);
    multiply_tile(multiplier, odd, even, there, here);
    tile.next(work);
    if (!tile.exists(work)) {
      store_runs(work, odd, there);
      break;
    }
  }
}

/* ---- both ---- */

__device__ __forceinline__ void prepare_stages(const ResidueWork &work, ResidueMemory &memory) {
  if (threadIdx.x == 0) {
    prefetch_map(&work.a), prefetch_map(&work.b);
    for (int stage = 0; stage < Shape::STAGES; stage++) {
      init_barrier(&memory.full[stage], 1);
      init_barrier(&memory.empty[stage], Shape::WARPGROUPS * 4 * Shape::DOWN);
    }
    publish_barriers();
  }
  __syncthreads();
  synchronize_cluster();
}

#endif

__global__ void __launch_bounds__(Shape::THREADS, 1)
    residue_product(const __grid_constant__ ResidueWork work) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char bytes[];
  ResidueMemory &memory = *reinterpret_cast<ResidueMemory *>(bytes);
  let_grids_begin();
  prepare_stages(work, memory);
  await_grids_before();
  if (threadIdx.x < 128) {
    give_registers<Shape::LOADERS>();
    if (threadIdx.x == 0) load_stages(work, memory);
    __syncwarp();
  } else {
    take_registers<Shape::MULTIPLIERS>();
    multiply_tiles(work, memory);
  }
  synchronize_cluster(); /* others may still write or arrive here */
#endif
}

/* ---- launching ---- */

bool fits(const dm_residue_panel &panel) {
  return panel.rows >= 1 && panel.stride % 16 == 0 && panel.stride >= panel.depth &&
         panel.plane_rows % DM_RESIDUE_GROUP == 0 && panel.plane_rows >= panel.rows &&
         (uintptr_t)panel.base % 16 == 0 &&
         (int64_t)panel.count * panel.plane_rows < INT32_MAX - Shape::BM * Shape::DOWN;
}

bool is_valid(const dm_residue_product *p) {
  return p->a.count == p->b.count && p->a.count >= 1 && p->a.count <= MODULI &&
         p->a.depth == p->b.depth && p->a.depth >= 1 && p->a.depth <= DM_RESIDUES_DEPTH &&
         fits(p->a) && fits(p->b);
}

cudaError_t map_panel(CUtensorMap *map, const dm_residue_panel &panel, int64_t rows, int box_rows) {
  return dm_tensor_map(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, panel.base,
                       (panel.count - 1) * panel.plane_rows + rows, panel.depth, panel.stride,
                       box_rows);
}

int alignment_of(const dm_residue_product *p) {
  const uint64_t all = (uint64_t)(uintptr_t)p->c | (uint64_t)p->row_stride | (uint64_t)p->plane;
  return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : 1;
}

} // namespace

cudaError_t dm_kernels_residue_product(const dm_residue_product *p) {
  if (!is_valid(p)) return cudaErrorInvalidValue;
  ResidueWork work = {};
  work.order = {(int)divide_up(p->a.rows, Shape::BM * Shape::DOWN),
                (int)divide_up(p->b.rows, Shape::BN), GROUP};
  const int64_t tiles = (int64_t)work.order.down * work.order.across * p->a.count;
  if (tiles > INT32_MAX / 2) return cudaErrorInvalidValue;
  work.count = p->a.count, work.m = (int)p->a.rows, work.n = (int)p->b.rows;
  work.steps = (int)divide_up(p->a.depth, BOX_ROW);
  work.a_plane_rows = (int)p->a.plane_rows, work.b_plane_rows = (int)p->b.plane_rows;
  work.c = p->c, work.row_stride = p->row_stride, work.plane = p->plane;
  work.alignment = alignment_of(p), work.accumulate = p->accumulate;
  work.moduli = TABLE;
  cudaError_t error = map_panel(&work.a, p->a, p->a.rows, Shape::BM);
  if (error != cudaSuccess) return error;
  /* The columns of the last group are scattered in it. */
  const int64_t columns = divide_up(p->b.rows, DM_RESIDUE_GROUP) * DM_RESIDUE_GROUP;
  error = map_panel(&work.b, p->b, columns, Shape::BN / Shape::DOWN);
  if (error != cudaSuccess) return error;
  return launch_clusters<Shape>(residue_product, work, tiles, (int)sizeof(ResidueMemory),
                                p->processors, p->stream);
}
