#include "backend/tiling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"

enum {
  MOST_BLOCK_THREADS = 1024,
  VECTOR = 16,
};

static const char *const names[DM_TILING_CLASSES] = {"tiny", "small", "medium", "large"};

/* Tiles of 128 x 128 for each multiprocessor, times 4: at most; and in the middle, times 8. */
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

/* What `damier tune` found on an H200 with NVRTC 13.0.  Those of warp_tile are not among them: nvcc
 * chooses registers better for other tiles than NVRTC does. */
static const dm_tilings built_in = {{
    {[DM_TILES_TINY] = {32, 64, 16, 3, 16, 32, 4, 4, 8, 2, 0},
     [DM_TILES_SMALL] = {64, 128, 16, 4, 64, 32, 8, 3, 8, 2, 0},
     [DM_TILES_MEDIUM] = {128, 64, 8, 4, 64, 32, 8, 3, 8, 2, 0},
     [DM_TILES_LARGE] = {128, 256, 8, 4, 64, 64, 8, 1, 8, 4, 1}},
    {[DM_TILES_TINY] = {64, 32, 16, 4, 32, 16, 16, 3, 8, 2, 0},
     [DM_TILES_SMALL] = {64, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0},
     [DM_TILES_MEDIUM] = {64, 128, 8, 4, 32, 64, 4, 1, 8, 2, 0},
     [DM_TILES_LARGE] = {128, 128, 16, 3, 32, 64, 4, 1, 8, 2, 0}},
}};

dm_tilings dm_tilings_built_in(void) {
  return built_in;
}

static bool refuse(char *why, const char *reason) {
  if (why) snprintf(why, 128, "%s", reason);
  return false;
}

static bool within(int value, int least, int most) {
  return value >= least && value <= most;
}

/* Small enough for all that follows to be computed in ints. */
static bool in_range(const dm_tiling *t) {
  return within(t->bm, 8, 512) && within(t->bn, 8, 512) && within(t->bk, 2, 64) &&
         within(t->stages, 2, 8) && within(t->wm, 4, 256) && within(t->wn, 4, 256) &&
         within(t->down, 1, 32) && within(t->blocks, 1, 16) && within(t->group, 1, 64) &&
         within(t->parts, 1, 8) && within(t->by_rows, 0, 1);
}

/* What the static assertions of the kernel say, and what they take for granted. */
static bool divides(const dm_tiling *t, int length, char *why) {
  if (t->bk % 2) return refuse(why, "BK is odd");
  if (t->bk % t->parts) return refuse(why, "PARTS does not divide BK");
  if (32 % t->down) return refuse(why, "DOWN does not divide the 32 threads of a warp");
  if (t->bm % t->wm || t->bn % t->wn)
    return refuse(why, "the warps' tiles do not fill the block's");
  const int across = 32 / t->down, threads = t->bm / t->wm * (t->bn / t->wn) * 32;
  if (t->wm % (t->down * length) || t->wn % (across * length))
    return refuse(why, "a thread's tile is not made of whole vectors");
  if (threads > MOST_BLOCK_THREADS) return refuse(why, "more than 1024 threads a block");
  const int vectors = t->bn / length; /* of a row of B */
  if (threads % t->bk || t->bm * t->bk % threads)
    return refuse(why, "the threads cannot share the tile of A evenly");
  if (threads % vectors || t->bk * vectors % threads)
    return refuse(why, "the threads cannot share the tile of B evenly");
  return true;
}

dm_tiling_need dm_tiling_need_of(const dm_tiling *t, dm_dtype dtype) {
  const int64_t size = dm_dtype_size(dtype);
  return (dm_tiling_need){.threads = t->bm / t->wm * (t->bn / t->wn) * 32,
                          .shared = t->stages * t->bk * (t->bm + t->bn + VECTOR / size) * size};
}

bool dm_tiling_runs(const dm_tiling *t, dm_dtype dtype, int64_t shared, char why[128]) {
  if (dm_tiling_type(dtype) < 0) return refuse(why, "jit multiplies f32 and f64");
  if (!in_range(t)) return refuse(why, "a number is out of its range");
  if (!divides(t, VECTOR / (int)dm_dtype_size(dtype), why)) return false;
  if (dm_tiling_need_of(t, dtype).shared > shared)
    return refuse(why, "the stages do not fit into shared memory");
  return true;
}

bool dm_tiling_equal(const dm_tiling *x, const dm_tiling *y) {
  return x->bm == y->bm && x->bn == y->bn && x->bk == y->bk && x->stages == y->stages &&
         x->wm == y->wm && x->wn == y->wn && x->down == y->down && x->blocks == y->blocks &&
         x->group == y->group && x->parts == y->parts && x->by_rows == y->by_rows;
}

char *dm_tiling_format(const dm_tiling *t, char text[128]) {
  snprintf(text, 128, "%dx%dx%d stages=%d warp=%dx%d down=%d blocks=%d group=%d parts=%d rows=%d",
           t->bm, t->bn, t->bk, t->stages, t->wm, t->wn, t->down, t->blocks, t->group, t->parts,
           t->by_rows);
  return text;
}

bool dm_tiling_parse(const char *text, dm_tiling *t) {
  char again[128];
  *t = (dm_tiling){0};
  (void)sscanf(
      text, "%4dx%4dx%4d stages=%4d warp=%4dx%4d down=%4d blocks=%4d group=%4d parts=%4d rows=%4d",
      &t->bm, &t->bn, &t->bk, &t->stages, &t->wm, &t->wn, &t->down, &t->blocks, &t->group,
      &t->parts, &t->by_rows);
  return strcmp(text, dm_tiling_format(t, again)) == 0;
}
