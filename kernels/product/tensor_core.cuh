/* tensor_core: the instructions for tensor cores (mma.sync and ldmatrix, since Ampere), and the
 * differences between the types.
 *
 * One mma.sync multiplies 16 rows of A by 8 columns of B, over 32 bytes of k.  With g = lane / 4
 * and t = lane % 4, a thread holds in registers of 4 bytes: words t and t + 4 of rows g and g + 8
 * of A; the same words of column g of B, with adjacent values of k in a word; columns 2t and 2t + 1
 * of rows g and g + 8 of the sums. */
#ifndef DM_KERNELS_TENSOR_CORE_CUH
#define DM_KERNELS_TENSOR_CORE_CUH

#include "kernels/helpers/number.cuh"

/* Loads four matrices of 8 rows of 16 bytes: lane l passes the address of row l % 8 of matrix l /
 * 8, and receives word l % 4 of row l / 4 of each matrix. */
static __device__ __forceinline__ void load_matrices(uint32_t (&to)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}

/* The same for 8 x 8 pairs of bytes, transposed: pair l / 4 of rows 2 (l % 4) and the next. */
static __device__ __forceinline__ void load_transposed(uint32_t (&first)[2], uint32_t (&second)[2],
                                                       unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
               : "r"(from)
               : "memory");
}

#define DM_MMA(shape, types, kind, sums, a, b)                                                     \
  asm("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, "          \
      "{%8, %9}, {%0, %1, %2, %3};"                                                                \
      : kind(sums[0]), kind(sums[1]), kind(sums[2]), kind(sums[3])                                 \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* Loads B, whose tile is row-major in shared memory as in global memory, to registers.
 *
 * SWIZZLE(k): piece p (of 16 bytes) of row k is stored at p ^ SWIZZLE(k), to avoid bank conflicts.
 * OFFSET: this lane's offset in the tile, for columns from piece PIECE on.  LOAD fills the
 * registers of N times 8 columns, and FINISH converts them to operands of mma.sync.  RUN: number of
 * a thread's sums that are adjacent in a row of C; run R starts at COLUMN, and SUM returns its
 * elements. */
template <class T> struct Tensor;

/* 16 bits: ldmatrix transposes. */
struct TensorHalf {
  static constexpr int RUN = 2;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 8;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int k = lane % 16;
    return k * row_bytes + ((piece + lane / 16) ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int) {
#pragma unroll
    for (int j = 0; j < N; j += 2) load_transposed(b[j], b[j + 1], at ^ (j * 16));
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&)[4]) {
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&)[2], uint32_t (&)[2]) {
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run * 8 + t * 2;
  }
  template <int N>
  static __device__ __forceinline__ float sum(const float (&sums)[N][4], int half, int run, int e) {
    return sums[run][half * 2 + e];
  }
};

template <> struct Tensor<__half> : TensorHalf {
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k16", "f32.f16.f16.f32", "+f", sums, a, b);
  }
};

template <> struct Tensor<__nv_bfloat16> : TensorHalf {
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k16", "f32.bf16.bf16.f32", "+f", sums, a, b);
  }
};

/* TF32: ldmatrix cannot transpose words of 4 bytes, but a thread can read 16 bytes of row t, which
 * are column g of four products if these compute columns 4g, 4g + 1, ... of C. */
template <> struct Tensor<float> {
  static constexpr int RUN = 4;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 4 * 2;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int k = lane % 4;
    return k * row_bytes + ((piece + lane / 4) ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int row_bytes) {
#pragma unroll
    for (int j = 0; j < N; j += 4)
#pragma unroll
      for (int half = 0; half < 2; half++)
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[j][half]), "=r"(b[j + 1][half]), "=r"(b[j + 2][half]),
                       "=r"(b[j + 3][half])
                     : "r"(at + j * 32 + half * 4 * row_bytes)
                     : "memory");
  }
  /* Rounds to nearest: ties to even in one instruction; Ampere only has ties away from zero, in
   * three. */
  static __device__ __forceinline__ void round(uint32_t &word) {
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(__uint_as_float(word)));
#endif
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) round(a[i]);
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&first)[2], uint32_t (&second)[2]) {
    round(first[0]), round(first[1]), round(second[0]), round(second[1]);
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run / 2 * 32 + t * 8 + run % 2 * 4;
  }
  template <int N>
  static __device__ __forceinline__ float sum(const float (&sums)[N][4], int half, int run, int e) {
    return sums[run / 2 * 4 + e][half * 2 + run % 2];
  }
  static __device__ __forceinline__ void multiply(float (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k8", "f32.tf32.tf32.f32", "+f", sums, a, b);
  }
};

/* 8 bits: ldmatrix transposes pairs of columns.  The order of row addresses gives a thread rows 4t
 * and 4t + 1 of columns 2g and 2g + 1 in one register, and the next two rows in another: their
 * bytes form one word of the even column and one of the odd. */
template <> struct Tensor<int8_t> {
  static constexpr int RUN = 4;

  static __device__ __forceinline__ int swizzle(int k) {
    return k % 2 | (k / 4 % 4) * 2;
  }
  static __device__ __forceinline__ unsigned offset(int lane, int row_bytes, int piece) {
    const int matrix = lane / 8, row = lane % 8;
    const int k = matrix / 2 * 16 + matrix % 2 * 2 + row / 2 * 4 + row % 2;
    return k * row_bytes + (piece ^ swizzle(k)) * 16;
  }
  template <int N>
  static __device__ __forceinline__ void load(uint32_t (&b)[N][2], unsigned at, int) {
#pragma unroll
    for (int j = 0; j < N; j += 2) load_transposed(b[j], b[j + 1], at ^ (j * 8));
  }
  static __device__ __forceinline__ void finish_a(uint32_t (&)[4]) {
  }
  static __device__ __forceinline__ void finish_b(uint32_t (&even)[2], uint32_t (&odd)[2]) {
    const uint32_t low[2] = {even[0], even[1]}; /* first 16 of k of both columns */
    even[0] = __byte_perm(low[0], low[1], 0x6420);
    even[1] = __byte_perm(odd[0], odd[1], 0x6420);
    odd[1] = __byte_perm(odd[0], odd[1], 0x7531);
    odd[0] = __byte_perm(low[0], low[1], 0x7531);
  }
  static __device__ __forceinline__ int column(int run, int t) {
    return run * 16 + t * 4;
  }
  template <int N>
  static __device__ __forceinline__ int32_t sum(const int32_t (&sums)[N][4], int half, int run,
                                                int e) {
    return sums[run * 2 + e % 2][half * 2 + e / 2];
  }
  static __device__ __forceinline__ void multiply(int32_t (&sums)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2]) {
    DM_MMA("m16n8k32", "s32.s8.s8.s32", "+r", sums, a, b);
  }
};

#undef DM_MMA

#endif
