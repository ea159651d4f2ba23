#include "backend/tiling.h"

#include <stddef.h>
#include <stdio.h>

enum { VECTOR = 16 }; /* bytes */

/* Each was the fastest of many on an H200 with NVRTC 13.0, for some size of C. Those of warp_tile
 * are not among them: nvcc allocates registers better for other tiles than NVRTC does. The kernel's
 * assumptions about them are checked where it is compiled. */
static const dm_tiling f32[] = {{128, 256, 8, 4, 64, 64, 8, 1, 8, 4, 1},
                                {128, 128, 8, 4, 64, 64, 8, 2, 8, 2, 0},
                                {128, 64, 8, 4, 64, 32, 8, 3, 8, 2, 0},
                                {64, 128, 16, 4, 64, 32, 8, 3, 8, 2, 0},
                                {32, 64, 16, 3, 16, 32, 4, 4, 8, 2, 0}};
static const dm_tiling f64[] = {{128, 128, 16, 3, 32, 64, 4, 1, 8, 2, 0},
                                {64, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0},
                                {64, 128, 8, 4, 32, 64, 4, 2, 8, 2, 0},
                                {64, 32, 16, 4, 32, 16, 16, 3, 8, 2, 0}};

const dm_tiling *dm_tiling_candidates(dm_dtype dtype, int *count) {
  *count = dtype == DM_F32   ? (int)(sizeof f32 / sizeof f32[0])
           : dtype == DM_F64 ? (int)(sizeof f64 / sizeof f64[0])
                             : 0;
  return dtype == DM_F32 ? f32 : dtype == DM_F64 ? f64 : NULL;
}

dm_tiling_need dm_tiling_need_of(const dm_tiling *t, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(dtype);
  return (dm_tiling_need){.threads = t->bm / t->wm * (t->bn / t->wn) * 32,
                          .shared = t->stages * t->bk * (t->bm + t->bn + VECTOR / size) * size};
}

char *dm_tiling_format(const dm_tiling *t, char text[128]) {
  snprintf(text, 128, "%dx%dx%d stages=%d warp=%dx%d down=%d blocks=%d group=%d parts=%d rows=%d",
           t->bm, t->bn, t->bk, t->stages, t->wm, t->wn, t->down, t->blocks, t->group, t->parts,
           t->by_rows);
  return text;
}
