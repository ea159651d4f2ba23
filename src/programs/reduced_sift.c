/* What is kept of a tile in GPU memory: limits of its lines go there, elements that pass come back,
 * and a thread merges them meanwhile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "programs/reduced_gpu_impl.h"

typedef struct dm_reduced_gpu reduced_gpu;

enum {
  SIFT_LEAST = 1 << 12, /* elements that have room, */
  SIFT_MOST = 1 << 24,  /* at least and at most, beside a row of a tile, */
  SIFT_SHARE = 8,       /* in a part of the host's memory */
  SIFT_FEW = 16,        /* one line of so many may be without a limit */
  SIFT_BEYOND = 32      /* one element of so many is expected beyond a threshold */
};

/* Elements of a tile of ROWS and COLS that may pass REDUCER's sieve: the best of each line, twice
 * if one has its first limit and the other one that of a single tile. */
static double sift_wanted(const dm_reducer *reducer, double rows, double cols) {
  const double most = (double)dm_reducer_most(reducer);
  return most > 0.0 ? 1.25 * most * (rows + cols) : rows * cols / SIFT_BEYOND;
}

dm_status dm_reduced_sift_open(reduced *r) {
  reduced_gpu *gpu = r->gpu;
  const dm_problem *p = &r->problem;
  const int64_t sizes[2] = {dm_min(r->step, p->m), dm_min(r->step, p->n)};
  double wanted = SIFT_LEAST;
  for (int i = 0; i < r->multiply->kept.count; i++)
    wanted = fmax(wanted, sift_wanted(r->reducer[i], (double)sizes[0], (double)sizes[1]));
  const int64_t room =
      dm_min((int64_t)fmin(wanted, SIFT_MOST), r->share / SIFT_SHARE / (int64_t)sizeof *gpu->list);
  gpu->room = dm_max(sizes[1], room); /* a row always has */
  for (int x = 0; x < 2; x++) {
    DM_TRY(dm_buffer_table(sizes[x], &gpu->raised[x]));
    DM_TRY(dm_buffer_table(sizes[x], &gpu->limit[x]));
  }
  DM_TRY(dm_buffer_alloc(gpu->room * (int64_t)sizeof *gpu->scratch, (void **)&gpu->scratch));
  return dm_backend_alloc(gpu->backend, DM_HOST, gpu->room * (int64_t)sizeof *gpu->list,
                          (void **)&gpu->list);
}

/* ---- merging ---- */

static void limit_elements(const gpu_merge *m) {
  for (int64_t i = 0; i < m->count && isfinite(m->most); i++) {
    double *value = &m->list[i].value;
    if (fabs(*value) > m->most) *value = copysign(m->last, *value);
  }
}

static void *merge_list(void *context) {
  gpu_merge *m = context;
  limit_elements(m);
  for (int x = 0; x < 2 && !m->status; x++)
    if (m->along[x])
      m->status = dm_reducer_merge(m->reducer, m->list, m->count, m->scratch, m->row, m->col,
                                   x == 1, m->threads);
  return NULL;
}

dm_status dm_reduced_gpu_settle(reduced *r) {
  gpu_merge *m = &r->gpu->merge;
  const double start = dm_now();
  if (m->started) pthread_join(m->thread, NULL);
  r->gpu->times.merge += dm_now() - start;
  m->started = false;
  dm_status status = m->status;
  m->status = DM_OK;
  return status;
}

/* On a thread, or, if there is none, now. */
static dm_status start_merge(reduced *r, gpu_merge merge) {
  gpu_merge *m = &r->gpu->merge;
  *m = merge;
  m->started = pthread_create(&m->thread, NULL, merge_list, m) == 0;
  if (m->started) return DM_OK;
  (void)merge_list(m);
  return dm_reduced_gpu_settle(r);
}

/* ---- limits ---- */

/* A tile that passes a reducer's sieve. */
typedef struct sifting {
  reduced *r;
  dm_reducer *reducer;
  dm_sieve sieve;
  dm_view tile;
  dm_range lines[2]; /* its rows and columns in C */
  bool along[2];     /* they are lines of the reducer */
  bool raised[2];    /* or must not be */
} sifting;

/* Of rows, or of columns. Elements that rounding took beyond the largest one are equal to it. */
static dm_status raise_limits(sifting *s, int x) {
  reduced_gpu *gpu = s->r->gpu;
  const int64_t count = dm_range_size(s->lines[x]);
  if (s->raised[x]) return DM_OK;
  s->raised[x] = true;
  DM_TRY(dm_backend_raise(gpu->backend, s->tile, s->sieve.score, s->sieve.left_out, x == 0,
                          dm_reducer_most(s->reducer), gpu->raised[x]));
  const float below = nextafterf((float)gpu->most, 0.0f);
  for (int64_t i = 0; i < count && isfinite(gpu->most); i++)
    if (gpu->raised[x][i] > below) gpu->raised[x][i] = nextafterf(below, 0.0f);
  return DM_OK;
}

/* Without limits most lines would pass as a whole. */
static dm_status begin_limits(sifting *s) {
  reduced_gpu *gpu = s->r->gpu;
  const float *limits = dm_reducer_limits(s->reducer);
  for (int x = 0; x < 2; x++) {
    int64_t without = 0;
    const int64_t count = dm_range_size(s->lines[x]);
    s->raised[x] = !limits || !s->along[x]; /* there are none to raise */
    for (int64_t i = 0; i < count && !s->raised[x]; i++) {
      without += isnan(limits[s->lines[x].begin + i]) != 0;
      gpu->raised[x][i] = NAN;
    }
    if (without > count / SIFT_FEW) DM_TRY(raise_limits(s, x));
  }
  return DM_OK;
}

/* LIMIT for elements of which those below -MOST will be -MOST. */
static float limit_of_all(double most, float limit) {
  return (double)limit < -most ? NAN : limit;
}

/* Those of COUNT lines from FIRST on of the tile, now. */
static const float *limits_now(const sifting *s, int x, int64_t first, int64_t count) {
  reduced_gpu *gpu = s->r->gpu;
  const float *limits = dm_reducer_limits(s->reducer);
  if (!limits || !s->along[x]) return NULL;
  for (int64_t i = first; i < first + count; i++) {
    const float own = gpu->raised[x][i], kept = limits[s->lines[x].begin + i];
    gpu->limit[x][i] = limit_of_all(gpu->most, isnan(kept) || own > kept ? own : kept);
  }
  return gpu->limit[x] + first;
}

/* ---- sifting ---- */

static double rounded_to(dm_dtype dtype, double value) {
  double element = 0.0;
  dm_store_wide(&element, dtype, 1, &value, 1);
  dm_load_wide(&value, &element, dtype, 1, 1);
  return value;
}

/* COUNT rows of the tile from FIRST on; *overflows: too many elements pass, and none was kept. */
static dm_status sift_band(sifting *s, int64_t first, int64_t count, bool *overflows) {
  reduced_gpu *gpu = s->r->gpu;
  const dm_view band = dm_view_sub(s->tile, first, 0, count, s->tile.cols);
  const int64_t row = s->lines[0].begin + first, col = s->lines[1].begin;
  int64_t passed, nans;
  DM_TRY(dm_reduced_gpu_settle(s->r));
  dm_sieve sieve = s->sieve;
  sieve.rows = limits_now(s, 0, first, count);
  sieve.cols = limits_now(s, 1, 0, band.cols);
  sieve.limit = limit_of_all(gpu->most, sieve.limit);
  sieve.left_out.ahead = row - col;
  DM_TRY(dm_backend_sift(gpu->backend, band, &sieve, gpu->list, gpu->room, &passed, &nans));
  *overflows = passed > gpu->room;
  if (*overflows) return DM_OK;
  dm_reducer_add_nans(s->reducer, nans * (s->along[0] + s->along[1]));
  if (passed == 0) return DM_OK;
  return start_merge(s->r, (gpu_merge){.reducer = s->reducer,
                                       .list = gpu->list,
                                       .scratch = gpu->scratch,
                                       .most = gpu->most,
                                       .last = rounded_to(s->tile.dtype, gpu->most),
                                       .count = passed,
                                       .row = row,
                                       .col = col,
                                       .along = {s->along[0], s->along[1]},
                                       .threads = s->r->run->cores.threads});
}

/* All rows at once, or, if too many elements pass, first with raised limits and then in bands. The
 * list has room for a row. */
static dm_status sift_tile(sifting *s) {
  int64_t height = s->tile.rows;
  DM_TRY(dm_reduced_gpu_settle(s->r));
  s->sieve.left_out.ahead = s->lines[0].begin - s->lines[1].begin;
  DM_TRY(begin_limits(s));
  for (int64_t row = 0, count; row < s->tile.rows;) {
    bool overflows;
    count = dm_min(height, s->tile.rows - row);
    DM_TRY(sift_band(s, row, count, &overflows));
    if (!overflows)
      row += count;
    else if (!s->raised[0] || !s->raised[1])
      for (int x = 0; x < 2; x++) DM_TRY(raise_limits(s, x));
    else
      height = dm_ceil_div(count, 2);
    if (!overflows && height < s->tile.rows) height *= 2;
  }
  return DM_OK;
}

dm_status dm_reduced_gpu_keep(reduced *r, dm_range rows, dm_range cols, bool mirrored) {
  reduced_gpu *gpu = r->gpu;
  const double start = dm_now(), merged = gpu->times.merge;
  const bool by_columns = !r->symmetric && dm_reduced_by_columns(r);
  for (int i = 0; i < r->multiply->kept.count; i++) {
    sifting s = {.r = r,
                 .reducer = r->reducer[i],
                 .tile = dm_view_strided(gpu->tile, r->tile, DM_DEVICE, dm_range_size(rows),
                                         dm_range_size(cols), gpu->line),
                 .lines = {rows, cols},
                 .along = {!by_columns, by_columns || mirrored}};
    if (!dm_reducer_sieve(s.reducer, &s.sieve))
      return dm_fail(DM_E_BUG, "what is kept has no sieve");
    DM_TRY(sift_tile(&s));
  }
  gpu->times.sift += dm_now() - start - (gpu->times.merge - merged);
  return DM_OK;
}
