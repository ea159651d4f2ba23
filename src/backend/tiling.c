#include "backend/tiling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"

enum { VECTOR = 16 }; /* bytes */

static const char *const names[DM_TILING_CLASSES] = {"tiny", "small", "medium", "large"};

/* 128 x 128 tiles per multiprocessor: the most of a class, in quarters; its middle, in eighths. */
static const int64_t most_quarters[DM_TILES_LARGE] = {1, 4, 32};
static const int middle_eighths[DM_TILING_CLASSES] = {1, 4, 24, 248};

const char *dm_tiling_class_name(dm_tiling_class kind) {
  return names[kind];
}

dm_tiling_class dm_tiling_class_of(int64_t rows, int64_t cols, int processors) {
  const int64_t down = dm_ceil_div(rows, 128), across = dm_ceil_div(cols, 128);
  int64_t quarters;
  if (dm_mul_overflows(down, across, &quarters) || dm_mul_overflows(quarters, 4, &quarters))
    return DM_TILES_LARGE;
  int kind = DM_TILES_TINY;
  while (kind < DM_TILES_LARGE && quarters > most_quarters[kind] * processors) kind++;
  return (dm_tiling_class)kind;
}

int64_t dm_tiling_class_size(dm_tiling_class kind, int processors) {
  const double tiles = middle_eighths[kind] * (double)processors / 8.0;
  return 128 * dm_max(1, llround(sqrt(tiles)));
}

int dm_tiling_type(dm_dtype dtype) {
  return dtype == DM_F32 ? 0 : dtype == DM_F64 ? 1 : -1;
}

/* The kernel's assumptions about them are checked where it is compiled. */
const dm_tiling dm_tiling_candidates[DM_TILING_TYPES][DM_TILING_CANDIDATES] = {
    {{DM_TILING_LARGE_F32},
     {DM_TILING_SMALL_F32},
     {128, 256, 8, 4, 64, 64, 8, 1, 8, 4, 1},
     {128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 0},
     {256, 128, 16, 3, 64, 64, 8, 1, 8, 2, 0},
     {128, 128, 8, 4, 64, 64, 8, 2, 8, 2, 0},
     {128, 128, 16, 3, 64, 64, 8, 2, 8, 2, 0},
     {128, 128, 8, 4, 64, 32, 8, 2, 8, 2, 0},
     {128, 64, 8, 4, 64, 32, 8, 3, 8, 2, 0},
     {64, 128, 16, 4, 64, 32, 8, 3, 8, 2, 0},
     {64, 64, 16, 3, 32, 32, 8, 4, 8, 2, 0},
     {32, 64, 16, 3, 16, 32, 4, 4, 8, 2, 0},
     {32, 32, 16, 4, 16, 32, 4, 8, 8, 2, 0}},
    {{DM_TILING_LARGE_F64},
     {DM_TILING_SMALL_F64},
     {128, 128, 16, 3, 32, 64, 4, 1, 8, 2, 0},
     {64, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0},
     {64, 128, 8, 4, 32, 64, 4, 2, 8, 2, 0},
     {128, 64, 8, 4, 64, 32, 8, 2, 8, 2, 0},
     {64, 64, 8, 4, 32, 32, 8, 2, 8, 2, 0},
     {64, 64, 16, 3, 32, 32, 8, 3, 8, 2, 0},
     {32, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0},
     {64, 32, 16, 4, 32, 16, 16, 3, 8, 2, 0},
     {32, 32, 16, 4, 16, 32, 4, 6, 8, 2, 0}},
};

/* Candidates that `damier tune` selected on an H200 with NVRTC 13.0. Those of warp_tile are not
 * among them: nvcc allocates registers better for other tiles than NVRTC does. */
static const int built_in[DM_TILING_TYPES][DM_TILING_CLASSES] = {{11, 9, 8, 2}, {9, 3, 3, 2}};

dm_tilings dm_tilings_built_in(void) {
  dm_tilings all;
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
      all.of[t][kind] = dm_tiling_candidates[t][built_in[t][kind]];
  return all;
}

dm_tiling_need dm_tiling_need_of(const dm_tiling *t, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(dtype);
  return (dm_tiling_need){.threads = t->bm / t->wm * (t->bn / t->wn) * 32,
                          .shared = t->stages * t->bk * (t->bm + t->bn + VECTOR / size) * size};
}

bool dm_tiling_equal(const dm_tiling *x, const dm_tiling *y) {
  return memcmp(x, y, sizeof *x) == 0; /* only integers */
}

char *dm_tiling_format(const dm_tiling *t, char text[128]) {
  snprintf(text, 128, "%dx%dx%d stages=%d warp=%dx%d down=%d blocks=%d group=%d parts=%d rows=%d",
           t->bm, t->bn, t->bk, t->stages, t->wm, t->wn, t->down, t->blocks, t->group, t->parts,
           t->by_rows);
  return text;
}

const dm_tiling *dm_tiling_find(int type, const char *text) {
  char own[128];
  const dm_tiling *all = dm_tiling_candidates[type];
  for (int i = 0; i < DM_TILING_CANDIDATES && all[i].bm > 0; i++)
    if (strcmp(text, dm_tiling_format(&all[i], own)) == 0) return &all[i];
  return NULL;
}
