/* tile_sizes: the parameters of a warp_tile kernel, for the compiler and for the program: BM, BN,
 * BK, STAGES, WM, WN, DOWN, BLOCKS, GROUP, PARTS, BY_ROWS.  See warp_tile.cuh. */
#ifndef DM_KERNELS_TILE_SIZES_H
#define DM_KERNELS_TILE_SIZES_H

/* The tilings of warp_tile, tuned by hand on an H200, for a large and for a small C. */
#define DM_TILING_LARGE_F32 128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 1
#define DM_TILING_LARGE_F64 128, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0
#define DM_TILING_SMALL_F32 64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0
#define DM_TILING_SMALL_F64 64, 64, 8, 4, 32, 32, 8, 3, 8, 2, 0

typedef struct dm_tiling {
  int bm, bn;  /* the block's tile of C */
  int bk;      /* depth of a stage */
  int stages;  /* stages of the ring in shared memory */
  int wm, wn;  /* the warp's tile */
  int down;    /* rows of threads in a warp */
  int blocks;  /* resident blocks per multiprocessor */
  int group;   /* rows of tiles in a group of blocks (grouped.cuh) */
  int parts;   /* parts into which the copies of a stage are split */
  int by_rows; /* 1: outer products by rows, 0: by columns */
} dm_tiling;

#endif
