/* wgmma_instruction: a warpgroup (128 threads) multiplies a 64 x K tile of A by a K x N tile of B,
 * both in shared memory, asynchronously: D += A B with D in registers.  K is 32 bytes of a row.
 *
 * Tiles have the layout of TMA: swizzled rows of 128 bytes (tensor_map.cuh) in groups of eight,
 * located by a descriptor.  Rows run along k, or for 16-bit types also along n. */
#ifndef DM_KERNELS_WGMMA_INSTRUCTION_CUH
#define DM_KERNELS_WGMMA_INSTRUCTION_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/product/mbarrier.cuh"

/* NEXT_ROWS: bytes from eight rows to the next eight; NEXT_BLOCK: from a block of 128 bytes across
 * to the next. */
static __device__ __forceinline__ uint64_t tile_descriptor(const void *tile, int next_rows,
                                                           int next_block) {
  const uint64_t permuted_by_128_bytes = (uint64_t)1 << 62;
  return permuted_by_128_bytes | (uint64_t)(next_rows >> 4) << 32 |
         (uint64_t)(next_block >> 4) << 16 | (shared_address(tile) & 0x3FFFF) >> 4;
}

/* A descriptor BYTES further on. */
static __device__ __forceinline__ uint64_t advance(uint64_t descriptor, int bytes) {
  return descriptor + (uint64_t)(bytes >> 4);
}

/* Needed before the first product after writing registers or shared memory. */
static __device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all but the last PENDING groups are complete. */
template <int PENDING> static __device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* The compiler may not move or copy D across this. */
template <int COUNT> static __device__ __forceinline__ void pin(float (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+f"(d[i])::"memory");
}
template <int COUNT> static __device__ __forceinline__ void pin(int32_t (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i++) asm volatile("" : "+r"(d[i])::"memory");
}

/* Wgmma<Element, N>::add_product<N_MAJOR>(d, a, b, keep): D = A B + (keep ? D : 0).  In
 * thread t, d[4 i + 2 j + l] is row 16 (t / 32) + t % 32 / 4 + 8 j, column 8 i + 2 (t % 4) + l. */
template <class Element, int N> struct Wgmma;

/* Names of register operands, ten at a time, and their constraints. */
#define DM_TEN(t)                                                                                  \
  "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define DM_NAMES_32 DM_TEN() DM_TEN(1) DM_TEN(2) "%30,%31"
#define DM_NAMES_64 DM_TEN() DM_TEN(1) DM_TEN(2) DM_TEN(3) DM_TEN(4) DM_TEN(5) "%60,%61,%62,%63"
#define DM_NAMES_96                                                                                \
  DM_TEN()                                                                                         \
  DM_TEN(1)                                                                                        \
  DM_TEN(2) DM_TEN(3) DM_TEN(4) DM_TEN(5) DM_TEN(6) DM_TEN(7) DM_TEN(8) "%90,%91,%92,%93,%94,%95"
#define DM_NAMES_128                                                                               \
  DM_TEN()                                                                                         \
  DM_TEN(1)                                                                                        \
  DM_TEN(2)                                                                                        \
  DM_TEN(3)                                                                                        \
  DM_TEN(4)                                                                                        \
  DM_TEN(5)                                                                                        \
  DM_TEN(6)                                                                                        \
  DM_TEN(7) DM_TEN(8) DM_TEN(9) DM_TEN(10) DM_TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127"

#define DM_HOLD_4(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define DM_HOLD_16(c, i)                                                                           \
  DM_HOLD_4(c, i), DM_HOLD_4(c, i + 4), DM_HOLD_4(c, i + 8), DM_HOLD_4(c, i + 12)
#define DM_HOLD_32(c, i) DM_HOLD_16(c, i), DM_HOLD_16(c, i + 16)
#define DM_HOLD_64(c, i) DM_HOLD_32(c, i), DM_HOLD_32(c, i + 32)
#define DM_HOLD_96(c, i) DM_HOLD_64(c, i), DM_HOLD_32(c, i + 64)
#define DM_HOLD_128(c, i) DM_HOLD_64(c, i), DM_HOLD_64(c, i + 64)

#define DM_WGMMA(Element, Sum, n, count, a, b, keep, major, types, hold, scales)                   \
  template <> struct Wgmma<Element, n> {                                                           \
    template <bool N_MAJOR>                                                                        \
    static __device__ __forceinline__ void add_product(Sum (&d)[count], uint64_t tile_a,           \
                                                       uint64_t tile_b, int keep_sums) {           \
      asm volatile("{\n"                                                                           \
                   ".reg .pred keep;\n"                                                            \
                   "setp.ne.b32 keep, %" #keep ", 0;\n"                                            \
                   "wgmma.mma_async.sync.aligned.m64n" #n types " {" DM_NAMES_##count              \
                   "}, %" #a ", %" #b ", keep" scales(major) ";\n"                                 \
                                                             "}"                                   \
                   : DM_HOLD_##count(hold, 0)                                                      \
                   : "l"(tile_a), "l"(tile_b), "r"(keep_sums), "n"(N_MAJOR ? 1 : 0));              \
    }                                                                                              \
  };

#define DM_WGMMA_SIZES(Element, Sum, types, hold, scales)                                          \
  DM_WGMMA(Element, Sum, 64, 32, 32, 33, 34, 35, types, hold, scales)                              \
  DM_WGMMA(Element, Sum, 128, 64, 64, 65, 66, 67, types, hold, scales)                             \
  DM_WGMMA(Element, Sum, 192, 96, 96, 97, 98, 99, types, hold, scales)                             \
  DM_WGMMA(Element, Sum, 256, 128, 128, 129, 130, 131, types, hold, scales)

/* Factors of A and B, and whether they are transposed. */
#define DM_SCALES_HALF(major) ", 1, 1, 0, %" #major
#define DM_SCALES_TF32(major) ", 1, 1"
#define DM_SCALES_I8(major) ""

DM_WGMMA_SIZES(__nv_bfloat16, float, "k16.f32.bf16.bf16", "+f", DM_SCALES_HALF)
DM_WGMMA_SIZES(__half, float, "k16.f32.f16.f16", "+f", DM_SCALES_HALF)
DM_WGMMA_SIZES(float, float, "k8.f32.tf32.tf32", "+f", DM_SCALES_TF32)
DM_WGMMA_SIZES(int8_t, int32_t, "k32.s32.s8.s8", "+r", DM_SCALES_I8)

#undef DM_WGMMA_SIZES
#undef DM_WGMMA
#undef DM_SCALES_HALF
#undef DM_SCALES_TF32
#undef DM_SCALES_I8
#undef DM_NAMES_32
#undef DM_NAMES_64
#undef DM_NAMES_96
#undef DM_NAMES_128
#undef DM_TEN
#undef DM_HOLD_4
#undef DM_HOLD_16
#undef DM_HOLD_32
#undef DM_HOLD_64
#undef DM_HOLD_96
#undef DM_HOLD_128

#endif
