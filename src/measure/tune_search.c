/* Candidates: a few to begin with, and the neighbourhood of the best so far. */
#include "measure/tune.h"

static const dm_tiling seeds_f32[] = {
    {DM_TILING_LARGE_F32},
    {DM_TILING_SMALL_F32},
    {128, 64, 8, 4, 64, 32, 8, 3, 8, 2, 0},
    {128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 1},
    {128, 256, 8, 4, 64, 64, 8, 1, 8, 2, 0},
    {256, 128, 16, 3, 64, 64, 8, 1, 8, 2, 0},
    {128, 128, 8, 4, 64, 64, 8, 2, 8, 2, 0},
    {128, 128, 16, 3, 64, 64, 8, 2, 8, 2, 0},
    {128, 128, 8, 4, 64, 32, 8, 2, 8, 2, 0},
    {64, 64, 16, 3, 32, 32, 8, 4, 8, 2, 0},
    {32, 64, 16, 4, 16, 32, 4, 6, 8, 2, 0},
    {32, 32, 16, 4, 16, 32, 4, 8, 8, 2, 0},
};

static const dm_tiling seeds_f64[] = {
    {DM_TILING_LARGE_F64},
    {DM_TILING_SMALL_F64},
    {128, 128, 16, 3, 32, 64, 4, 1, 8, 2, 0},
    {64, 128, 8, 4, 32, 64, 4, 2, 8, 2, 0},
    {128, 64, 8, 4, 64, 32, 8, 2, 8, 2, 0},
    {64, 64, 8, 4, 32, 32, 8, 2, 8, 2, 0},
    {64, 64, 16, 3, 32, 32, 8, 3, 8, 2, 0},
    {32, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0},
    {32, 32, 16, 4, 16, 32, 4, 6, 8, 2, 0},
};

typedef struct list {
  dm_tiling *at;
  int count;
  dm_dtype type;
  const dm_tiling_limits *limits;
} list;

static void add(list *l, dm_tiling candidate) {
  if (l->count == DM_TUNE_CANDIDATES || !dm_tiling_fits(&candidate, l->type, l->limits, NULL))
    return;
  for (int i = 0; i < l->count; i++)
    if (dm_tiling_equal(&l->at[i], &candidate)) return;
  l->at[l->count++] = candidate;
}

int dm_tune_seeds(dm_dtype type, const dm_tiling_limits *limits, dm_tiling *at) {
  list l = {.at = at, .type = type, .limits = limits};
  const bool single = type == DM_F32;
  const dm_tilings built_in = dm_tilings_built_in();
  for (int i = 0; i < DM_TILING_CLASSES; i++) add(&l, built_in.of[dm_tiling_type(type)][i]);
  const int count = (int)(single ? sizeof seeds_f32 : sizeof seeds_f64) / (int)sizeof(dm_tiling);
  for (int i = 0; i < count; i++) add(&l, single ? seeds_f32[i] : seeds_f64[i]);
  return l.count;
}

/* Steps of one number; sizes by powers of two. */
static void add_single_steps(list *l, const dm_tiling *t) {
  for (int up = 0; up < 2; up++) {
    const int by = up ? 1 : -1;
    dm_tiling x[] = {*t, *t, *t, *t, *t, *t, *t};
    x[0].stages += by;
    x[1].blocks += by;
    x[2].bk = up ? 2 * t->bk : t->bk / 2;
    x[3].down = up ? 2 * t->down : t->down / 2;
    x[4].group = up ? 2 * t->group : t->group / 2;
    x[5].parts = up ? 2 * t->parts : t->parts / 2;
    x[6].by_rows = up;
    for (int i = 0; i < 7; i++)
      if (!dm_tiling_equal(&x[i], t)) add(l, x[i]);
  }
}

/* The block's tile by more or fewer warps, the warp's by larger or smaller tiles of its threads;
 * and what usually has to go with that: how many blocks fit, how deep a stage is. */
static void add_shapes(list *l, const dm_tiling *t) {
  static const int factors[][4] = {{2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {1, 1, 1, 2},
                                   {2, 1, 2, 1}, {1, 2, 1, 2}, {2, 2, 2, 2}};
  const int count = (int)(sizeof factors / sizeof factors[0]);
  for (int i = 0; i < 2 * count; i++) {
    const int *f = factors[i / 2];
    const bool up = i % 2;
    dm_tiling x = *t;
    x.bm = up ? t->bm * f[0] : t->bm / f[0];
    x.bn = up ? t->bn * f[1] : t->bn / f[1];
    x.wm = up ? t->wm * f[2] : t->wm / f[2];
    x.wn = up ? t->wn * f[3] : t->wn / f[3];
    add(l, x);
    dm_tiling deeper = x, other = x;
    deeper.bk *= 2;
    add(l, deeper);
    other.blocks = up ? (t->blocks + 1) / 2 : 2 * t->blocks;
    add(l, other);
  }
}

int dm_tune_neighbours(const dm_tiling *tiling, dm_dtype type, const dm_tiling_limits *limits,
                       dm_tiling *at) {
  list l = {.at = at, .type = type, .limits = limits};
  dm_tiling turned = *tiling, shallow = *tiling;
  add_single_steps(&l, tiling);
  turned.bm = tiling->bn;
  turned.bn = tiling->bm;
  turned.wm = tiling->wn;
  turned.wn = tiling->wm;
  turned.down = 32 / tiling->down;
  add(&l, turned);
  shallow.bk = 2 * tiling->bk;
  shallow.stages = tiling->stages - 1;
  add(&l, shallow);
  add_shapes(&l, tiling);
  return l.count;
}
