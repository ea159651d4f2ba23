/* registry: our own kernels, as data, in the order of the ladder.  Compiled in every build: the
 * names that --kernel takes, and what it refuses, do not depend on CUDA.
 *
 * One line a kernel: X(name, types, capability, scratch, about, limits).  Its launcher is
 * dm_kernels_NAME and its need of memory dm_kernels_SCRATCH (kernels.h); its text is NAME.cu. */
#ifndef DM_KERNELS_REGISTRY_H
#define DM_KERNELS_REGISTRY_H

#include "core/dtype.h"

/* Sets of types: one bit for each dm_dtype. */
enum {
  DM_KERNEL_F32 = 1 << DM_F32,
  DM_KERNEL_REAL = 1 << DM_F32 | 1 << DM_F64,
  DM_KERNEL_ANY = ((1 << DM_DTYPE_COUNT) - 1) & ~(1 << DM_I32), /* i32 is a type of sums */
};

#define DM_KERNEL_LIST(X)                                                                          \
  X(thread_per_element_1d, DM_KERNEL_REAL, 80, no_scratch,                                         \
    "a thread for each element of C, counted in one dimension", "")                                \
  X(row_per_block, DM_KERNEL_REAL, 80, no_scratch, "a block for each row of C", "")                \
  X(row_shared, DM_KERNEL_REAL, 80, no_scratch,                                                    \
    "a block for each row of C, with the row of A in shared memory", "")                           \
  X(pitched, DM_KERNEL_REAL, 80, padded_scratch,                                                   \
    "naive_coalesced on copies of A and B whose rows begin at multiples of 512 bytes",             \
    "needs memory for both copies")                                                                \
  X(naive, DM_KERNEL_REAL, 80, no_scratch, "a thread for each element; a warp runs down a column", \
    "")                                                                                            \
  X(naive_coalesced, DM_KERNEL_REAL, 80, no_scratch,                                               \
    "a thread for each element; a warp runs along a row", "")                                      \
  X(tiled, DM_KERNEL_ANY, 80, no_scratch, "tiles of 16 x 16 in shared memory, two barriers", "")   \
  X(tiled_32, DM_KERNEL_ANY, 80, no_scratch, "tiles of 32 x 32", "")                               \
  X(kahan, DM_KERNEL_F32, 80, no_scratch, "tiled_32 with compensated sums",                        \
    "an infinite sum becomes NaN")                                                                 \
  X(thread_tile_1d, DM_KERNEL_REAL, 80, no_scratch, "a column of 8 elements a thread", "")         \
  X(thread_tile_2d, DM_KERNEL_REAL, 80, no_scratch, "8 x 8 elements a thread", "")                 \
  X(remapped_load, DM_KERNEL_REAL, 80, no_scratch,                                                 \
    "tiles loaded along their rows, whatever elements a thread computes", "")                      \
  X(vectorized, DM_KERNEL_REAL, 80, no_scratch, "loads and stores of 16 bytes",                    \
    "fast where rows are 16-byte aligned")                                                         \
  X(conflict_free, DM_KERNEL_REAL, 80, no_scratch,                                                 \
    "A transposed and padded in shared memory: no bank conflicts",                                 \
    "fast where rows are 16-byte aligned")                                                         \
  X(outer_product, DM_KERNEL_REAL, 80, no_scratch,                                                 \
    "fragments of A and B in registers, read from shared memory 16 bytes at a time",               \
    "fast where rows are 16-byte aligned")                                                         \
  X(double_buffer, DM_KERNEL_REAL, 80, no_scratch,                                                 \
    "two tiles in turn: one is loaded through registers while the other is multiplied",            \
    "fast where rows are 16-byte aligned")                                                         \
  X(double_buffer_async, DM_KERNEL_REAL, 80, no_scratch,                                           \
    "four tiles in turn, filled by asynchronous copies", "")                                       \
  X(warp_tile, DM_KERNEL_REAL, 80, no_scratch,                                                     \
    "a tile for each warp, fragments loaded one step ahead, asynchronous copies", "")

#define DM_KERNEL_ID(name, ...) DM_KERNEL_##name,
typedef enum dm_kernel_id { DM_KERNEL_LIST(DM_KERNEL_ID) DM_KERNEL_COUNT } dm_kernel_id;
#undef DM_KERNEL_ID

typedef struct dm_kernel {
  const char *name;
  unsigned types;     /* a set of them */
  int capability;     /* the least compute capability, times 10 */
  const char *about;  /* one line */
  const char *limits; /* what it costs, or where it is slow; may be empty */
} dm_kernel;

#endif
