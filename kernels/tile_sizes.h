/* tile_sizes: the numbers that a warp_tile kernel is made from, as the compiler and the program see
 * them: BM, BN, BK, STAGES, WM, WN, DOWN, BLOCKS, GROUP, PARTS, BY_ROWS.  warp_tile.cuh says what
 * they mean. */
#ifndef DM_KERNELS_TILE_SIZES_H
#define DM_KERNELS_TILE_SIZES_H

/* Those of warp_tile, found by hand on an H200: for a large C, and for one that is not. */
#define DM_TILING_LARGE_F32 128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 1
#define DM_TILING_LARGE_F64 128, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0
#define DM_TILING_SMALL_F32 64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0
#define DM_TILING_SMALL_F64 64, 64, 8, 4, 32, 32, 8, 3, 8, 2, 0

typedef struct dm_tiling {
  int bm, bn;  /* the block's tile of C */
  int bk;      /* depth of a stage */
  int stages;  /* in the ring of shared memory */
  int wm, wn;  /* the warp's tile */
  int down;    /* rows of threads in a warp */
  int blocks;  /* that shall fit on a multiprocessor */
  int group;   /* rows of tiles that blocks are counted down */
  int parts;   /* that the copies of a stage are made in */
  int by_rows; /* 1: outer products go along rows, 0: down columns */
} dm_tiling;

#endif
