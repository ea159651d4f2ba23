/* mma: C (+)= A B on tensor cores, with the instruction mma.sync.
 *
 * The idea: PTX specifies which thread holds which element, so the opaque fragments of wmma are not
 * needed.  Tiles have the same layout in shared as in global memory, and are copied asynchronously
 * in pieces of 16 bytes.  The pieces are permuted in each row (swizzled), which, unlike padding,
 * costs no memory, and lets ldmatrix read eight rows at once without bank conflicts.  A warp
 * computes 64 x 64 elements of C: the 128 sums per thread and two sets of fragments fill the
 * registers, and every byte read from shared memory is used 64 times.  Fragments are loaded one
 * step ahead, copies are issued several tiles ahead.
 *
 * Adds to wmma: the swizzle, larger tiles, a ring of stages, fragments ahead, and i8; f64 is in
 * 19_mma_f64.cu.  Limits: operands pass through registers, and on Hopper mma.sync reaches at most
 * two thirds of the tensor cores' rate (wgmma reaches all).  A multiprocessor of an H200 receives
 * about 26 bytes per cycle from the L2 cache, as much as a tile of 128 x 256 needs: 16-bit types
 * are limited by copies, not by products.  In TF32 each thread rounds the operands it has loaded.
 * Rows not aligned to 16 bytes are copied first.
 *
 * Measured on an H200, N = 8192: bf16 0.55, f16 0.56, TF32 0.42, i8 0.53 of cuBLAS' speed. */
#include "kernels/product/mma.cuh"

#include "kernels/helpers/repack.cuh"
#include "kernels/product/grouped.cuh"
#include "kernels/product/mma_stage.cuh"
#include "kernels/product/mma_store.cuh"

namespace {

/* CYCLES: measured on an H200 for 32 bytes of k in 16 bits, with BLOCKS per multiprocessor; ALONE:
 * with one. */
struct Large : MmaTiling<128, 256, 128, 3, 64, 64> {
  static constexpr int CYCLES = 475, ALONE = CYCLES;
};
struct Small : MmaTiling<64, 128, 64, 4, 32, 64, 2> {
  static constexpr int CYCLES = 365, ALONE = 220;
};

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS) mma(Product<T> p, bool wide_c) {
  typedef typename Types<T>::Sum Sum;
  constexpr int STAGES = Shape::STAGES, STEPS = Shape::STEPS, SIZE = (int)sizeof(T);
  constexpr int BK = Shape::DEPTH / SIZE, M = Shape::WM / 16, N = Shape::WN / 8,
                ROW_BYTES = Shape::BN * SIZE;
  extern __shared__ __align__(128) char memory[];
  const unsigned stages = (unsigned)__cvta_generic_to_shared(memory);

  __shared__ Corner corner; /* kept for the end in shared memory, because registers are scarce */
  if (threadIdx.x == 0) corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WM;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WN;

  const int tiles = (int)((p.a.cols + BK - 1) / BK),
            rest = (int)(p.a.cols - (tiles - 1) * (int64_t)BK);
  const auto k_of = [=](int left) { /* of a tile, when LEFT tiles remain */
                                    return left > 1 ? BK : left == 1 ? rest : 0;
  };
  StageCopier<T, Shape> copier(p, corner);
  const auto copy_tile = [&](int stage, int left) {
    copier.copy(stages + stage * Shape::STAGE_BYTES, k_of(left));
  };
  for (int s = 0; s < STAGES - 1; s++) {
    copy_tile(s, tiles - s);
    commit_copies();
  }

  const int a_row = warp_row + lane % 16; /* whose address this lane passes to ldmatrix */
  const unsigned a_at = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, lane / 16) * 16;
  const unsigned b_at = Shape::A_BYTES + Tensor<T>::offset(lane, ROW_BYTES, warp_col * SIZE / 16);
  uint32_t a[2][M][4], b[2][N][2]; /* of this step and the next */
  const auto load_fragments = [&](int which, int stage, int step) {
    const unsigned at = stages + stage * Shape::STAGE_BYTES;
#pragma unroll
    for (int i = 0; i < M; i++)
      load_matrices(a[which][i], ((at + a_at) ^ (step * 32)) + i * 16 * Shape::DEPTH);
    Tensor<T>::load(b[which], at + b_at + step * (32 / SIZE) * ROW_BYTES, ROW_BYTES);
  };
  const auto finish_fragments = [&](int which) {
#pragma unroll
    for (int i = 0; i < M; i++) Tensor<T>::finish_a(a[which][i]);
#pragma unroll
    for (int j = 0; j < N; j += 2) Tensor<T>::finish_b(b[which][j], b[which][j + 1]);
  };
  wait_for_copies<STAGES - 2>();
  __syncthreads();
  load_fragments(0, 0, 0);
  finish_fragments(0);

  Sum sums[M][N][4] = {};
  int now = 0, free_stage = STAGES - 1;
  copy_tile(free_stage, tiles - STAGES + 1);
  for (int left = tiles; left > 0; left--) {
    if (left == 4 && p.accumulate) prefetch<Shape>(p.c, corner);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      if (s == STEPS - 1) { /* the next stage has arrived, and all warps have read this one */
        commit_copies();
        wait_for_copies<STAGES - 2>();
        __syncthreads();
        free_stage = now;
        now = now + 1 == STAGES ? 0 : now + 1;
      }
      load_fragments((s + 1) % 2, now, (s + 1) % STEPS);
      if (s == STEPS - 1) copy_tile(free_stage, left - STAGES);
#pragma unroll
      for (int i = 0; i < M; i++) {
#pragma unroll
        for (int j = 0; j < N; j++) { /* back and forth: shares an operand */
          const int turned = i % 2 ? N - 1 - j : j;
          Tensor<T>::multiply(sums[i][turned], a[s % 2][i], b[s % 2][turned]);
        }
        if (i == 1) finish_fragments((s + 1) % 2); /* loaded by now */
      }
    }
  }
  wait_for_all_copies(); /* beyond the last k, copies only store zeros */
  __syncthreads();
  Sum *const patch = reinterpret_cast<Sum *>(memory) + warp * 16 * (Shape::WN + 8);
  if (wide_c)
    store<4>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
  else
    store<1>(p, sums, patch, corner.row + warp_row, corner.col + warp_col);
}

template <class T, class Shape> cudaError_t launch(const dm_product *product) {
  const Product<T> p = product_of<T>(product);
  const auto kernel = mma<T, Shape>;
  const int bytes = Shape::STAGES * Shape::STAGE_BYTES;
  const cudaError_t refused =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (refused != cudaSuccess) return refused;
  const bool wide_c = (uintptr_t)p.c.base % 16 == 0 && p.c.stride % 4 == 0;
  const unsigned blocks = blocks_for_tiles(product->c, Shape::BM, Shape::BN);
  kernel<<<blocks, Shape::THREADS, bytes, product->stream>>>(p, wide_c);
  return cudaGetLastError();
}

/* The time of a product with tiles of SHAPE: blocks run in waves that fill the GPU. */
template <class Shape> int64_t time_of(const dm_product *product) {
  const int64_t tiles =
      divide_up(product->c.rows, Shape::BM) * divide_up(product->c.cols, Shape::BN);
  if (tiles <= product->processors) return Shape::ALONE;
  return divide_up(tiles, Shape::BLOCKS * (int64_t)product->processors) * Shape::CYCLES;
}

template <class T> cudaError_t launch_fitting(const dm_product *product) {
  if (time_of<Large>(product) < time_of<Small>(product)) {
    const cudaError_t error = launch<T, Large>(product);
    if (error != cudaErrorInvalidValue) return error;
    (void)cudaGetLastError(); /* too little shared memory on this GPU */
  }
  return launch<T, Small>(product);
}

} // namespace

cudaError_t dm_kernels_mma(const dm_product *product) {
  if (product->a.dtype == DM_F64) return dm_mma_f64(product);
  dm_product aligned = *product;
  const cudaError_t error = dm_align_operands(&aligned);
  if (error != cudaSuccess) return error;
  switch (product->a.dtype) {
  case DM_F16:
    return launch_fitting<__half>(&aligned);
  case DM_BF16:
    return launch_fitting<__nv_bfloat16>(&aligned);
  case DM_F32: /* TF32, says the registry */
    return launch_fitting<float>(&aligned);
  case DM_I8:
    return launch_fitting<int8_t>(&aligned);
  default:
    return cudaErrorInvalidValue;
  }
}
