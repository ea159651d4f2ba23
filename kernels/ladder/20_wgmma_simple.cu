/* wgmma_simple: C (+)= A B in 16 bits with TMA and wgmma, and with nothing else of Hopper.
 *
 * The idea: two warpgroups (256 threads) compute 128 x 256 elements of C, half of the rows each.
 * One thread asks the tensor memory accelerator for boxes of A and B, 64 of k at a time, which it
 * writes to shared memory, swizzled, and whose bytes it counts at a barrier.  Four such stages form
 * a ring.  When a stage is full, each warpgroup issues four asynchronous products that read both
 * operands from it; when these run, those of the stage before are complete, and its place in the
 * ring is filled again.  (PTX ISA, "wgmma" and "cp.async.bulk.tensor")
 *
 * Adds to mma: operands do not pass registers, so that these hold nothing but sums, and one thread
 * copies for all.  Beyond the borders TMA reads zeros.  Rows not aligned to 16 bytes are copied
 * first; extents must be below 2^31.
 *
 * What limits it: all threads meet at every stage, and while a block stores its tile its
 * multiprocessor does not multiply.  wgmma has a warpgroup that only loads, and loads ahead into
 * the next tile; clusters, which share B; and other tiles for small C. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/ladder/hopper.cuh"

namespace {

constexpr int BM = 128, BN = 256, BK = 64; /* rows of BK, or of 64 columns of B, are a BOX_ROW */
constexpr int STAGES = 4, THREADS = 256, SUMS = 64 * BN / 128;

struct Stage {
  char a[BM * BOX_ROW];                   /* a box of 128 rows along k */
  char b[BN * 2 / BOX_ROW][BK * BOX_ROW]; /* four boxes of 64 rows along n */
};

struct Memory {
  Stage stage[STAGES];
  uint64_t full[STAGES];
};

/* D = A B + (keep ? D : 0): 64 x 16 of A by 16 x 256 of B.  1, 1: factors of A and B; 0: rows of A
 * run along k; 1: those of B along n.  In thread t, d[4 i + 2 j + l] is row 16 (t / 32) +
 * t % 32 / 4 + 8 j, column 8 i + 2 (t % 4) + l. */
#define DM_FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define DM_SIXTEEN(i) DM_FOUR(i), DM_FOUR(i + 4), DM_FOUR(i + 8), DM_FOUR(i + 12)
#define DM_MULTIPLY(type)                                                                          \
  asm volatile(                                                                                    \
      "{\n"                                                                                        \
      ".reg .pred keep;\n"                                                                         \
      "setp.ne.b32 keep, %130, 0;\n"                                                               \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {"                            \
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"     \
      "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,"   \
      "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,"   \
      "%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,"   \
      "%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,"      \
      "%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,"      \
      "%126,%127}, %128, %129, keep, 1, 1, 0, 1;\n"                                                \
      "}"                                                                                          \
      : DM_SIXTEEN(0), DM_SIXTEEN(16), DM_SIXTEEN(32), DM_SIXTEEN(48), DM_SIXTEEN(64),             \
        DM_SIXTEEN(80), DM_SIXTEEN(96), DM_SIXTEEN(112)                                            \
      : "l"(a), "l"(b), "r"((int)keep))

template <class Element>
__device__ __forceinline__ void multiply(float (&d)[SUMS], uint64_t a, uint64_t b, bool keep) {
  if constexpr (std::is_same<Element, __half>::value)
    DM_MULTIPLY("f16");
  else
    DM_MULTIPLY("bf16");
}

/* STEPS: stages along k.  Maps are parameters of the kernel, because TMA reads them there. */
template <class Element>
__global__ void __launch_bounds__(THREADS, 1)
    wgmma_simple(const __grid_constant__ CUtensorMap map_a,
                 const __grid_constant__ CUtensorMap map_b, Matrix<float> c, int steps,
                 bool accumulate) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char bytes[];
  Memory &memory = *reinterpret_cast<Memory *>(bytes);
  const Corner corner = block_corner(c, BM, BN);
  const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;

  /* One thread asks for the boxes of a step along k. */
  const auto fill = [&](int step) {
    Stage &stage = memory.stage[step % STAGES];
    uint64_t *full = &memory.full[step % STAGES];
    arrive_expecting(full, sizeof(Stage));
    load_box(stage.a, &map_a, step * BK, (int)corner.row, full);
    for (int i = 0; i < BN / 64; i++)
      load_box(stage.b[i], &map_b, (int)corner.col + i * 64, step * BK, full);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) init_barrier(&memory.full[i], 1);
    publish_barriers();
    for (int step = 0; step < STAGES && step < steps; step++) fill(step);
  }
  __syncthreads();

  float d[SUMS];
  for (int step = 0; step < steps; step++) {
    const Stage &stage = memory.stage[step % STAGES];
    wait(&memory.full[step % STAGES], step / STAGES % 2);
    const uint64_t a = tile_descriptor(stage.a + warpgroup * 64 * BOX_ROW, 8 * BOX_ROW, 16);
    const uint64_t b = tile_descriptor(stage.b, 8 * BOX_ROW, BK * BOX_ROW);
    begin_products();
#pragma unroll
    for (int i = 0; i < BK / 16; i++) /* 16 of k are 32 bytes of a row of A, 16 rows of B */
      multiply<Element>(d, advance(a, i * 32), advance(b, i * 16 * BOX_ROW), step > 0 || i > 0);
    commit_products();
    wait_for_products<1>(); /* those of the stage before, here and, after the barrier, everywhere */
    __syncthreads();
    if (threadIdx.x == 0 && step > 0 && step - 1 + STAGES < steps) fill(step - 1 + STAGES);
  }
  wait_for_products<0>();
  pin(d);

  const int64_t row = corner.row + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4;
  const int64_t col = corner.col + thread % 4 * 2;
#pragma unroll
  for (int e = 0; e < SUMS; e++) {
    const int64_t i = row + e / 2 % 2 * 8, j = col + e / 4 * 8 + e % 2;
    if (i < c.rows && j < c.cols) c.at(i, j) = accumulate ? c.at(i, j) + d[e] : d[e];
  }
#endif
}

template <class Element> cudaError_t launch(const dm_gemm &p, CUtensorMapDataType type) {
  CUtensorMap a, b;
  const int bytes = sizeof(Memory);
  cudaError_t error = dm_tensor_map(&a, type, 2, p.a.base, p.a.rows, p.a.cols, p.a.row_stride, BM);
  if (error == cudaSuccess)
    error = dm_tensor_map(&b, type, 2, p.b.base, p.b.rows, p.b.cols, p.b.row_stride, BK);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(wgmma_simple<Element>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 bytes);
  if (error != cudaSuccess) return error;
  wgmma_simple<Element><<<blocks_for_tiles(p.c, BM, BN), THREADS, bytes, p.stream>>>(
      a, b, matrix_of<float>(p.c), (int)divide_up(p.a.cols, BK), p.accumulate);
  return cudaGetLastError();
}

} // namespace

extern "C" cudaError_t dm_kernels_wgmma_simple(const dm_gemm *product) {
  dm_gemm p = *product;
  CUtensorMapDataType type;
  if (p.c.rows > INT32_MAX || p.c.cols > INT32_MAX || p.a.cols > INT32_MAX)
    return cudaErrorInvalidValue;
  const cudaError_t error = dm_prepare_rows_for_tma(&p, &type);
  if (error != cudaSuccess) return error;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ? launch<__half>(p, type)
                                                 : launch<__nv_bfloat16>(p, type);
}
