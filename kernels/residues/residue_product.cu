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

/* Products per tile and modulus. */
template <int PARTS> constexpr int PASSES = PARTS == 1 ? 1 : DM_RESIDUE_PLANES;

constexpr ModulusTable TABLE = modulus_table();

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* ---- loading: one thread ---- */

template <int PARTS>
__device__ __forceinline__ void load_stages(const ResidueWork &work, ResidueMemory &memory) {
  Ring<Shape::STAGES> ring;
  const int part = rank_in_cluster() * (Shape::BN / Shape::DOWN); /* of B, for both blocks */
  for (ResidueTile tile(work); tile.exists(work); tile.next(work))
    for (int pass = 0; pass < PASSES<PARTS>; pass++) {
      const int plane = PASSES<PARTS> * tile.x + pass;
      const int a_row = plane * work.a_plane_rows + tile.row;
      const int b_row = plane * work.b_plane_rows + tile.col + part;
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

  /* Issues the products of a stage while those of the previous stage still run.  KEEP: adds those
   * of the FIRST stage, too, to D. */
  __device__ __forceinline__ void step(int32_t (&d)[Shape::SUMS], bool first, bool keep) {
    wait(&memory.full[ring.stage], ring.parity);
    multiply_stage<int8_t, false, Shape>(d, memory.a[ring.stage] + warpgroup * 64 * BOX_ROW,
                                         memory.b[ring.stage], !first || keep);
    wait_for_products<1>();
    if (!first) release_before();
    ring.next();
  }

  /* The steps of a pass from STEP on. */
  __device__ __forceinline__ void finish(int32_t (&d)[Shape::SUMS], int step, bool keep) {
    for (; step < work.steps; step++) this->step(d, step == 0, keep);
    wait_for_products<0>();
    pin(d);
    release_before();
  }
};

template <int PART, int PARTS>
__device__ __forceinline__ void store_runs(const ResidueWork &work, const int32_t *d,
                                           const Place<PARTS> &place) {
#pragma unroll
  for (int run = 0; run < RUNS; run++)
    store_run<PART>(work, place, d, run, load_run<PART>(work, place, run));
}

/* NOW = the sums of a pass, or NOW + these to KEEP it; meanwhile stores BEFORE, sums of part PART
 * of the tile at THERE. */
template <int PART, int PARTS>
__device__ __forceinline__ void multiply_pass(Multiplier &multiplier, int32_t (&now)[Shape::SUMS],
                                              bool keep, const int32_t (&before)[Shape::SUMS],
                                              const Place<PARTS> &there) {
  const ResidueWork &work = multiplier.work;
  int step = 0;
  if (work.steps >= RUNS) {
    Run<PARTS> old = load_run<PART>(work, there, 0);
#pragma unroll
    for (int run = 0; run < RUNS; run++) {
      multiplier.step(now, run == 0, keep);
      const Run<PARTS> present = old;
      if (run + 1 < RUNS) old = load_run<PART>(work, there, run + 1);
      store_run<PART>(work, there, before, run, present);
    }
    step = RUNS;
  } else {
    store_runs<PART>(work, before, there);
  }
  multiplier.finish(now, step, keep);
}

/* Tiles of real numbers: each is stored while the next is multiplied. */
__device__ __forceinline__ void multiply_tiles(Multiplier &multiplier, Place<1> there) {
  const ResidueWork &work = multiplier.work;
  int32_t even[Shape::SUMS], odd[Shape::SUMS];
  ResidueTile tile(work);
  while (true) {
    const Place<1> here(tile.x, tile.row, tile.col);
    prefetch_runs(work, here);
    multiply_pass<0>(multiplier, even, false, odd, there);
    tile.next(work);
    if (!tile.exists(work)) {
      store_runs<0>(work, even, here);
      break;
    }
    there = Place<1>(tile.x, tile.row, tile.col);
    prefetch_runs(work, there);
    multiply_pass<0>(multiplier, odd, false, even, here);
    tile.next(work);
    if (!tile.exists(work)) {
      store_runs<0>(work, odd, there);
      break;
    }
  }
}

/* Tiles of complex numbers.  With P = Re A Re B, Q = Im A Im B and R = (Re A + Im A) (Re B + Im B),
 * Re C = P - Q is stored while R is added to -P - Q, and Im C, the sum, while the next tile's P is
 * computed. */
__device__ __forceinline__ void multiply_tiles(Multiplier &multiplier, Place<2> there) {
  const ResidueWork &work = multiplier.work;
  int32_t re[Shape::SUMS], im[Shape::SUMS];
  for (ResidueTile tile(work); tile.exists(work); tile.next(work)) {
    const Place<2> here(tile.x, tile.row, tile.col);
    prefetch_runs(work, here);
    multiply_pass<1>(multiplier, re, false, im, there); /* P */
    multiplier.finish(im, 0, false);                    /* Q */
#pragma unroll
    for (int i = 0; i < Shape::SUMS; i++) {
      const int32_t p = re[i], q = im[i];
      re[i] = p - q, im[i] = -p - q;
    }
    multiply_pass<0>(multiplier, im, true, re, here); /* R */
    there = here;
  }
  store_runs<1>(work, im, there);
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

template <int PARTS>
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
    if (threadIdx.x == 0) load_stages<PARTS>(work, memory);
    __syncwarp();
  } else {
    take_registers<Shape::MULTIPLIERS>();
    Multiplier multiplier = {work, memory, (int)threadIdx.x / 128 - 1, {}};
    multiply_tiles(multiplier, Place<PARTS>(0, work.m, 0)); /* there is nothing to store yet */
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

/* Sums of several passes fit int32, too. */
bool is_valid(const dm_residue_product *p) {
  const int passes = p->parts == 1 ? PASSES<1> : PASSES<2>;
  return p->parts >= 1 && p->parts <= 2 && p->a.count == p->b.count && p->a.count >= passes &&
         p->a.count % passes == 0 && p->a.count / passes <= MODULI && p->a.depth == p->b.depth &&
         p->a.depth >= 1 && passes * p->a.depth <= DM_RESIDUES_DEPTH && fits(p->a) && fits(p->b);
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

template <int PARTS> cudaError_t start(const dm_residue_product *p) {
  ResidueWork work = {};
  work.order = {(int)divide_up(p->a.rows, Shape::BM * Shape::DOWN),
                (int)divide_up(p->b.rows, Shape::BN), GROUP};
  work.count = p->a.count / PASSES<PARTS>, work.m = (int)p->a.rows, work.n = (int)p->b.rows;
  const int64_t tiles = (int64_t)work.order.down * work.order.across * work.count;
  if (tiles > INT32_MAX / 2) return cudaErrorInvalidValue;
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
  return launch_clusters<Shape>(residue_product<PARTS>, work, tiles, (int)sizeof(ResidueMemory),
                                p->processors, p->stream);
}

} // namespace

cudaError_t dm_kernels_residue_product(const dm_residue_product *p) {
  if (!is_valid(p)) return cudaErrorInvalidValue;
  return p->parts == 1 ? start<1>(p) : start<2>(p);
}
