/* mma: C (+)= A B by the tensor cores' own instruction, mma.sync.
 *
 * The idea: the instruction says which thread holds which element, so that nothing has to go
 * through the opaque fragments of wmma.  Tiles lie in shared memory as they do in global memory,
 * copied asynchronously, 16 bytes at a time; those pieces are permuted in each row (swizzled),
 * which costs no memory, as padding does, and lets ldmatrix read eight rows at once without a bank
 * conflict.  A warp computes 64 x 64 elements of C: its 128 sums a thread, with two sets of
 * fragments, are what registers hold, and every byte that it reads from shared memory is used 64
 * times.  Fragments are loaded one step ahead, copies several tiles ahead.
 *
 * It adds to wmma the swizzle, the larger tiles, the ring of stages, the fragments ahead, and i8;
 * f64 is in 19_mma_f64.cu.  Its limits: the operands pass through registers, and on Hopper mma.sync
 * reaches no more than two thirds of what the tensor cores can do (wgmma does).  A multiprocessor
 * of an H200 gets some 26 bytes a cycle from the L2 cache, which a tile of 128 x 256 needs too: the
 * copies, not the products, bound 16 bits.  In TF32 each thread rounds what it has loaded.  Rows
 * that are not aligned to 16 bytes are copied first.
 *
 * Measured on an H200, N = 8192: bf16 0.55, f16 0.56, TF32 0.42, i8 0.53 of cuBLAS' speed. */
#include "kernels/product/mma.cuh"

#include "kernels/helpers/repack.cuh"
#include "kernels/product/grouped.cuh"
#include "kernels/product/mma_stage.cuh"
#include "kernels/product/mma_store.cuh"

namespace {

/* CYCLES: what 32 bytes of k took on an H200, in 16 bits, with BLOCKS on every multiprocessor;
 * ALONE: with one. */
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

  __shared__ Corner corner; /* which is needed again at the end: registers are short */
  if (threadIdx.x == 0) corner = grouped_corner<Shape::GROUP>(p.c, Shape::BM, Shape::BN);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / Shape::WARPS_ACROSS * Shape::WM;
  const int warp_col = warp % Shape::WARPS_ACROSS * Shape::WN;

  const int tiles = (int)((p.a.cols + BK - 1) / BK),
            rest = (int)(p.a.cols - (tiles - 1) * (int64_t)BK);
  const auto k_of = [=](int left) { /* in a tile when so many are left */
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

  const int a_row = warp_row + lane % 16; /* which this lane names to ldmatrix */
  const unsigned a_at = a_row * Shape::DEPTH + a_piece<Shape::DEPTH>(a_row, lane / 16) * 16;
  const unsigned b_at = Shape::A_BYTES + Tensor<T>::offset(lane, ROW_BYTES, warp_col * SIZE / 16);
  uint32_t a[2][M][4], b[2][N][2]; /* of a step and of the next */
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
      if (s == STEPS - 1) { /* the next stage has arrived, and this one is read */
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
        for (int j = 0; j < N; j++) { /* and back again: one operand stays the same */
          const int turned = i % 2 ? N - 1 - j : j;
          Tensor<T>::multiply(sums[i][turned], a[s % 2][i], b[s % 2][turned]);
        }
        if (i == 1) finish_fragments((s + 1) % 2); /* they have arrived */
      }
    }
  }
  wait_for_all_copies(); /* beyond the last k nothing was read, but zeros are stored */
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

/* The time of a product in tiles of a shape: blocks run in waves that fill the GPU. */
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
    (void)cudaGetLastError(); /* not so much shared memory here */
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
  case DM_F32: /* the registry has it for TF32 only */
    return launch_fitting<float>(&aligned);
  case DM_I8:
    return launch_fitting<int8_t>(&aligned);
  default:
    return cudaErrorInvalidValue;
  }
}
