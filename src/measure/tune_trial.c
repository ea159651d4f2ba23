#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/fill.h"
#include "measure/tune_impl.h"
#include "run/statistics.h"

enum { MOST_PAIRS = 32, MOST_REPEATS = 200 };
static const double shortest = 1e-3; /* seconds that are timed at once */

/* Borders inside tiles, and rows that are not aligned; and the opposite. */
typedef struct check {
  int64_t m, n, k, pad;
  bool accumulate;
} check;
static const check checks[2] = {{517, 389, 301, 3, true}, {640, 768, 72, 0, false}};

/* ---- matrices ---- */

static dm_status make(dm_tuner *t, int64_t rows, int64_t cols, int64_t pad, uint64_t seed,
                      dm_view *view) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = seed};
  const int64_t stride = cols + pad;
  void *memory;
  DM_TRY(dm_backend_alloc(t->backend, DM_DEVICE, rows * stride * dm_dtype_size(t->type), &memory));
  *view = dm_view_strided(memory, t->type, DM_DEVICE, rows, cols, stride);
  return dm_backend_fill(t->backend, *view, &random, 0, 0);
}

static dm_status make_product(dm_tuner *t, const check *of, dm_tune_product *p) {
  DM_TRY(make(t, of->m, of->k, of->pad, 1, &p->a));
  DM_TRY(make(t, of->k, of->n, of->pad, 2, &p->b));
  return make(t, of->m, of->n, of->pad, 3, &p->c);
}

static void release(dm_tuner *t, dm_tune_product *p) {
  dm_backend_release(t->backend, DM_DEVICE, p->a.base);
  dm_backend_release(t->backend, DM_DEVICE, p->b.base);
  dm_backend_release(t->backend, DM_DEVICE, p->c.base);
  *p = (dm_tune_product){0};
}

dm_status dm_tuner_set_size(dm_tuner *t, int64_t size) {
  const check square = {.m = size, .n = size, .k = size};
  release(t, &t->product);
  return make_product(t, &square, &t->product);
}

/* ---- the bits ---- */

static int64_t bytes_of(const check *of, dm_dtype type) {
  return of->m * of->n * dm_dtype_size(type);
}

/* The product of check I by TILING (NULL: warp_tile), packed, in the host's RESULT. */
static dm_status multiply_check(dm_tuner *t, int i, const dm_tiling *tiling, void *result) {
  const check *of = &checks[i];
  const dm_generator old = {.kind = DM_UNIFORM, .seed = 3};
  const dm_view host = dm_view_row_major(result, t->type, of->m, of->n);
  dm_view c = t->checks[i].c;
  double seconds;
  dm_event done;
  DM_TRY(dm_backend_fill(t->backend, c, &old, 0, 0));
  DM_TRY(t->jit->time(t->backend, tiling, c, t->checks[i].a, t->checks[i].b, of->accumulate, 1,
                      &seconds));
  DM_TRY(dm_backend_copy(t->backend, host, c, &done));
  return dm_backend_wait(t->backend, done);
}

static dm_status has_same_bits(dm_tuner *t, const dm_tiling *tiling, bool *same) {
  *same = true;
  for (int i = 0; i < 2 && *same; i++) {
    const int64_t bytes = bytes_of(&checks[i], t->type);
    void *result;
    DM_TRY(dm_buffer_alloc(bytes, &result));
    dm_status status = multiply_check(t, i, tiling, result);
    if (!status) *same = memcmp(result, t->wanted[i], (size_t)bytes) == 0;
    free(result);
    DM_TRY(status);
  }
  return DM_OK;
}

dm_status dm_tuner_open(dm_tuner *t) {
  for (int i = 0; i < 2; i++) {
    DM_TRY(make_product(t, &checks[i], &t->checks[i]));
    DM_TRY(dm_buffer_alloc(bytes_of(&checks[i], t->type), &t->wanted[i]));
    DM_TRY(multiply_check(t, i, NULL, t->wanted[i]));
  }
  return DM_OK;
}

void dm_tuner_close(dm_tuner *t) {
  for (int i = 0; i < 2; i++) {
    release(t, &t->checks[i]);
    free(t->wanted[i]);
    t->wanted[i] = NULL;
  }
  release(t, &t->product);
}

dm_status dm_tuner_accepts(dm_tuner *t, const dm_tiling *tiling, bool *accepted) {
  dm_jit_report report;
  char text[128];
  *accepted = false;
  dm_status status = t->jit->compile(t->backend, t->type, tiling, &report);
  if (status && status->code == DM_E_DEVICE) {
    dm_log_line(t->log, DM_LOG_DETAIL, "%s", status->message);
    dm_status_free(status);
    t->refused++;
    return DM_OK;
  }
  DM_TRY(status);
  t->compiled++;
  if (report.local_bytes > 0) {
    t->spilled++;
    return DM_OK;
  }
  DM_TRY(has_same_bits(t, tiling, accepted));
  if (*accepted) return DM_OK;
  t->wrong++;
  dm_log_line(t->log, DM_LOG_WARNING, "tiling %s of %s gives other bits than warp_tile: not used",
              dm_tiling_format(tiling, text), dm_dtype_name(t->type));
  return DM_OK;
}

/* ---- the time ---- */

static dm_status time_one(dm_tuner *t, const dm_tiling *tiling, int repeats, double *seconds) {
  const dm_tune_product *p = &t->product;
  return t->jit->time(t->backend, tiling, p->c, p->a, p->b, false, repeats, seconds);
}

dm_status dm_tuner_compare(dm_tuner *t, const dm_tiling *x, const dm_tiling *y, int pairs,
                           double *x_seconds, double *y_seconds) {
  double x_times[MOST_PAIRS], y_times[MOST_PAIRS], once;
  DM_TRY(time_one(t, x, 1, &once));
  DM_TRY(time_one(t, y, 1, &once));
  const double count = shortest / (once > 1e-9 ? once : 1e-9);
  const int repeats = count >= MOST_REPEATS ? MOST_REPEATS : 1 + (int)count;
  if (pairs > MOST_PAIRS) pairs = MOST_PAIRS;
  for (int i = 0; i < pairs; i++) { /* who comes first alternates too */
    if (i % 2) DM_TRY(time_one(t, x, repeats, &x_times[i]));
    DM_TRY(time_one(t, y, repeats, &y_times[i]));
    if (!(i % 2)) DM_TRY(time_one(t, x, repeats, &x_times[i]));
  }
  *x_seconds = dm_statistics_of(x_times, pairs).median;
  *y_seconds = dm_statistics_of(y_times, pairs).median;
  return DM_OK;
}
