/* registry: a table of the GPU kernels that multiply, transpose, add and reduce, in the order of
 * the ladder.  Compiled in every build: the names that --kernel accepts and rejects do not depend
 * on CUDA.
 *
 * Our own products: X(name, types, first, last, sums, scratch, about, limits).  The launcher is
 * dm_kernels_NAME, dm_kernels_SCRATCH returns its scratch memory (kernels.h), and the source is
 * ladder/NN_NAME.cu. */
#ifndef DM_KERNELS_REGISTRY_H
#define DM_KERNELS_REGISTRY_H

#include <stdbool.h>

#include "core/compute.h"

/* Sets of operands: one bit per type. */
enum {
  DM_KERNEL_F32 = 1 << DM_F32,
  DM_KERNEL_F64 = 1 << DM_F64,
  DM_KERNEL_I8 = 1 << DM_I8,
  DM_KERNEL_TF32 = 1 << DM_TF32,
  DM_KERNEL_REAL = DM_KERNEL_F32 | DM_KERNEL_F64,
  DM_KERNEL_HALF = 1 << DM_F16 | 1 << DM_BF16,
  DM_KERNEL_ANY = ((1 << DM_DTYPE_COUNT) - 1) & ~(1 << DM_I32), /* i32 is only for sums */
  DM_KERNEL_SUMS = DM_KERNEL_REAL | 1 << DM_I32,
  DM_KERNEL_EVERY = (1 << DM_DTYPE_COUNT) - 1,
};

typedef enum dm_kernel_op { DM_GEMM, DM_TRANSPOSE, DM_ADD, DM_DOT, DM_KERNEL_OPS } dm_kernel_op;

/* The provider of a kernel. */
typedef enum dm_kernel_maker {
  DM_BY_KERNEL, /* a launcher of kernels.h */
  DM_BY_CUBLAS,
  DM_BY_CUBLASLT,
} dm_kernel_maker;

/* How the sums of C are accumulated. */
typedef enum dm_kernel_sums {
  DM_SUM_CHAIN, /* one chain of fused multiply-adds over ascending k, starting with the old C */
  DM_SUM_COMPENSATED, /* compensated for the error of each addition */
  DM_SUM_GROUPED,     /* the hardware adds groups of products at once, with its own rounding */
  DM_SUM_ANY,         /* the library's choice, which may depend on the shape */
} dm_kernel_sums;

/* Compute capabilities, times 10: a kernel runs on FIRST to LAST. */
enum { DM_AMPERE = 80, DM_HOPPER = 90, DM_LATER = 9999 };

#define DM_KERNEL_LIST(X)                                                                          \
  X(naive, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                          \
    "a thread for each element; a warp runs down a column", "")                                    \
  X(naive_coalesced, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                \
    "a thread for each element; a warp runs along a row", "")                                      \
  X(pitched, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, padded_scratch,                    \
    "naive_coalesced on copies of A and B whose rows begin at multiples of 512 bytes",             \
    "needs memory for both copies")                                                                \
  X(thread_per_element_1d, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,          \
    "a thread for each element of C, counted in one dimension", "")                                \
  X(row_per_block, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                  \
    "a block for each row of C", "")                                                               \
  X(row_shared, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                     \
    "a block for each row of C, with the row of A in shared memory", "")                           \
  X(tiled, DM_KERNEL_ANY, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                           \
    "tiles of 16 x 16 in shared memory, two barriers", "")                                         \
  X(tiled_32, DM_KERNEL_ANY, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch, "tiles of 32 x 32",    \
    "")                                                                                            \
  X(kahan, DM_KERNEL_F32, DM_AMPERE, DM_LATER, DM_SUM_COMPENSATED, no_scratch,                     \
    "tiled_32 with compensated sums", "an infinite sum becomes NaN")                               \
  X(thread_tile_1d, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                 \
    "a column of 8 elements a thread", "")                                                         \
  X(thread_tile_2d, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                 \
    "8 x 8 elements a thread", "")                                                                 \
  X(remapped_load, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                  \
    "tiles loaded along their rows, whatever elements a thread computes", "")                      \
  X(vectorized, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                     \
    "loads and stores of 16 bytes", "fast where rows are 16-byte aligned")                         \
  X(conflict_free, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                  \
    "A transposed and padded in shared memory: no bank conflicts",                                 \
    "fast where rows are 16-byte aligned")                                                         \
  X(outer_product, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                  \
    "fragments of A and B in registers, read from shared memory 16 bytes at a time",               \
    "fast where rows are 16-byte aligned")                                                         \
  X(double_buffer, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                  \
    "two tiles in turn: one is loaded through registers while the other is multiplied",            \
    "fast where rows are 16-byte aligned")                                                         \
  X(double_buffer_async, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,            \
    "four tiles in turn, filled by asynchronous copies", "")                                       \
  X(warp_tile, DM_KERNEL_REAL, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                      \
    "a tile for each warp, fragments loaded one step ahead, asynchronous copies", "")              \
  X(wmma, DM_KERNEL_HALF | DM_KERNEL_TF32, DM_AMPERE, DM_LATER, DM_SUM_GROUPED, aligned_scratch,   \
    "tensor cores through the fragments of nvcuda::wmma",                                          \
    "needs memory for copies of A and B where rows are not 16-byte aligned")                       \
  X(mma, DM_KERNEL_F64 | DM_KERNEL_HALF | DM_KERNEL_TF32 | DM_KERNEL_I8, DM_AMPERE, DM_LATER,      \
    DM_SUM_GROUPED, aligned_scratch, "tensor cores through mma.sync, fed by ldmatrix",             \
    "needs memory for copies of A and B where rows are not 16-byte aligned, but in f64")           \
  X(wgmma_simple, DM_KERNEL_HALF, DM_HOPPER, DM_HOPPER, DM_SUM_GROUPED, aligned_scratch,           \
    "TMA and warpgroup instructions at their smallest: a tile for each block, a ring of stages",   \
    "needs memory for copies of A and B where rows are not 16-byte aligned")                       \
  X(wgmma, DM_KERNEL_HALF | DM_KERNEL_I8 | DM_KERNEL_TF32, DM_HOPPER, DM_HOPPER, DM_SUM_GROUPED,   \
    tma_scratch, "warpgroup instructions on tensor cores, fed by TMA",                             \
    "needs memory for operands that are not 16-byte aligned, and for B in TF32 and i8")            \
  X(jit, DM_KERNEL_ANY, DM_AMPERE, DM_LATER, DM_SUM_CHAIN, no_scratch,                             \
    "tiled_32, compiled at run time for the type and the exact sizes of the product",              \
    "needs NVRTC; the first product of each shape waits for the compiler")

/* Other products: X(name, maker, types, sums, about, limits). */
#define DM_KERNEL_OTHERS(X)                                                                        \
  X(cublas, DM_BY_CUBLAS, DM_KERNEL_ANY | DM_KERNEL_TF32, DM_SUM_ANY,                              \
    "NVIDIA's library: cublasGemmEx", "")                                                          \
  X(cublaslt, DM_BY_CUBLASLT, DM_KERNEL_REAL | DM_KERNEL_HALF | DM_KERNEL_TF32, DM_SUM_ANY,        \
    "NVIDIA's library: cublasLtMatmul, by the algorithm that its heuristic puts first", "")

/* Helpers: X(name, types, about).  The launchers are dm_kernels_NAME. */
#define DM_TRANSPOSE_LIST(X)                                                                       \
  X(transpose_read_coalesced, DM_KERNEL_EVERY,                                                     \
    "a thread for each element, counted along the rows that are read")                             \
  X(transpose_write_coalesced, DM_KERNEL_EVERY,                                                    \
    "a thread for each element, counted along the rows that are written")                          \
  X(transpose_2d, DM_KERNEL_EVERY, "blocks of 32 x 8 threads, a thread for each element")          \
  X(transpose_tiled, DM_KERNEL_EVERY,                                                              \
    "tiles turned in registers and padded shared memory, 16 bytes at a time on both sides")
#define DM_ADD_LIST(X)                                                                             \
  X(add_grid_stride, DM_KERNEL_SUMS,                                                               \
    "a grid of the GPU's size that strides over the matrix, counted in one dimension")             \
  X(add_2d, DM_KERNEL_SUMS, "blocks of 32 x 8 threads, 16 bytes of a row each")
#define DM_DOT_LIST(X)                                                                             \
  X(dot_interleaved, DM_KERNEL_SUMS, "tree in shared memory: neighbours first, warps diverge")     \
  X(dot_sequential, DM_KERNEL_SUMS, "tree in shared memory: halves first, whole warps retire")     \
  X(dot_unrolled, DM_KERNEL_SUMS, "dot_sequential whose last warp needs no barrier")               \
  X(dot_shuffle, DM_KERNEL_SUMS, "sums pass from register to register inside a warp")              \
  X(dot_two_stage, DM_KERNEL_SUMS, "the sums of the blocks are added on the CPU, which waits")     \
  X(dot_counter, DM_KERNEL_SUMS, "the last block to finish adds the sums of all")                  \
  X(dot_atomic, DM_KERNEL_SUMS,                                                                    \
    "blocks add to the result atomically: in no fixed order, so that bits change")

#define DM_KERNEL_ID(name, ...) DM_KERNEL_##name,
typedef enum dm_kernel_id {
  DM_KERNEL_LIST(DM_KERNEL_ID) DM_KERNEL_OTHERS(DM_KERNEL_ID) DM_TRANSPOSE_LIST(DM_KERNEL_ID)
      DM_ADD_LIST(DM_KERNEL_ID) DM_DOT_LIST(DM_KERNEL_ID) DM_KERNEL_COUNT
} dm_kernel_id;
#undef DM_KERNEL_ID

typedef struct dm_kernel {
  dm_kernel_id id;
  const char *name;
  dm_kernel_op op;
  dm_kernel_maker maker;
  unsigned types;  /* set of operands */
  int first, last; /* compute capabilities */
  dm_kernel_sums sums;
  const char *about;  /* one line */
  const char *limits; /* its costs, or conditions for speed; may be empty */
} dm_kernel;

/* How KERNEL accumulates products of WORK: f64 on tensor cores forms chains (19_mma_f64.cu). */
static inline dm_kernel_sums dm_kernel_sums_of(const dm_kernel *kernel, dm_dtype work) {
  const bool chain = kernel->sums == DM_SUM_GROUPED && work == DM_F64;
  return chain ? DM_SUM_CHAIN : kernel->sums;
}

/* Whether KERNEL multiplies OPERAND. */
static inline bool dm_kernel_takes(const dm_kernel *kernel, dm_operand operand) {
  return kernel->types >> operand & 1;
}

#endif
