#include "measure/tune.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/units.h"
#include "engine/tilings.h"

enum { ROUNDS = 3, MOST_PRODUCTS = 200, CHECK_M = 517, CHECK_N = 389, CHECK_K = 301 };

/* What must be gained for the tiling that is built in to be replaced, and seconds of products that
 * are timed at once. */
static const double gain = 1.005, batch = 2e-3;

static const dm_tiling candidates[DM_TILING_TYPES][DM_TUNE_CANDIDATES] = {
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

/* One type's tuning; both backends are of the same GPU. */
typedef struct tuner {
  const dm_log *log;
  dm_backend *jit, *warp_tile;
  dm_jit_facts facts;
  dm_dtype type;
  int64_t sizes[DM_TILING_CLASSES]; /* of square products */
  void *a, *b, *c;                  /* of the largest of them, on the GPU */
  char *wanted, *got;               /* of the check, in host memory */
  int count;
  dm_tiling list[DM_TUNE_CANDIDATES];
  double seconds[DM_TUNE_CANDIDATES][DM_TILING_CLASSES]; /* DBL_MAX: not used */
} tuner;

int dm_tune_candidates(dm_dtype type, int64_t shared, dm_tiling list[DM_TUNE_CANDIDATES]) {
  const dm_tiling *all = candidates[dm_tiling_type(type)];
  int count = 0;
  for (int i = 0; i < DM_TUNE_CANDIDATES && all[i].bm > 0; i++)
    if (dm_tiling_runs(&all[i], type, shared, NULL)) list[count++] = all[i];
  return count;
}

/* ---- one candidate ---- */

static dm_status use(tuner *t, const dm_tiling *tiling) {
  dm_tilings all = dm_tilings_built_in();
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
    all.of[dm_tiling_type(t->type)][kind] = *tiling;
  return t->jit->ops->jit->use(t->jit, &all);
}

/* C += A B with borders inside tiles and rows that are not aligned; RESULT is in host memory. */
static dm_status multiply_check(tuner *t, dm_backend *backend, char *result) {
  const dm_generator old = {.kind = DM_UNIFORM, .seed = 3};
  dm_view a = dm_view_strided(t->a, t->type, DM_DEVICE, CHECK_M, CHECK_K, CHECK_K + 2);
  dm_view b = dm_view_strided(t->b, t->type, DM_DEVICE, CHECK_K, CHECK_N, CHECK_N + 2);
  dm_view c = dm_view_strided(t->c, t->type, DM_DEVICE, CHECK_M, CHECK_N, CHECK_N + 2);
  dm_event done;
  DM_TRY(dm_backend_fill(backend, c, &old, 0, 0));
  DM_TRY(dm_backend_gemm(backend, c, a, b, true, &done));
  DM_TRY(dm_backend_wait(backend, done));
  DM_TRY(dm_backend_copy(backend, dm_view_row_major(result, t->type, CHECK_M, CHECK_N), c, &done));
  return dm_backend_wait(backend, done);
}

/* Seconds of one product of SIZE, by the tiling in use. */
static dm_status time_products(tuner *t, int64_t size, int count, double *seconds) {
  const dm_view a = dm_view_strided(t->a, t->type, DM_DEVICE, size, size, size);
  const dm_view b = dm_view_strided(t->b, t->type, DM_DEVICE, size, size, size);
  const dm_view c = dm_view_strided(t->c, t->type, DM_DEVICE, size, size, size);
  dm_event done = 0;
  const double start = dm_now();
  for (int i = 0; i < count; i++) DM_TRY(dm_backend_gemm(t->jit, c, a, b, false, &done));
  DM_TRY(dm_backend_wait(t->jit, done));
  *seconds = (dm_now() - start) / count;
  return DM_OK;
}

/* Compiles LIST[i] and checks it; SECONDS[i] become DBL_MAX where it cannot be used. */
static dm_status accept(tuner *t, int i) {
  const int64_t bytes = (int64_t)CHECK_M * CHECK_N * dm_dtype_size(t->type);
  char text[128];
  DM_TRY(use(t, &t->list[i]));
  dm_status status = multiply_check(t, t->jit, t->got);
  const bool same = !status && memcmp(t->got, t->wanted, (size_t)bytes) == 0;
  if (status && status->code != DM_E_DEVICE) return status;
  if (!same)
    dm_log_line(t->log, DM_LOG_WARNING, "%s of %s is left out: %s",
                dm_tiling_format(&t->list[i], text), dm_dtype_name(t->type),
                status ? status->message : "it gives other bits than warp_tile");
  dm_status_free(status);
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++) t->seconds[i][kind] = same ? 0.0 : DBL_MAX;
  return DM_OK;
}

/* The best of a few batches. */
static dm_status time_candidate(tuner *t, int i, int kind) {
  double best, now;
  DM_TRY(time_products(t, t->sizes[kind], 1, &now));
  DM_TRY(time_products(t, t->sizes[kind], 1, &best));
  const int count = best * MOST_PRODUCTS < batch ? MOST_PRODUCTS : 1 + (int)(batch / best);
  for (int round = 0; round < ROUNDS; round++) {
    DM_TRY(time_products(t, t->sizes[kind], count, &now));
    if (round == 0 || now < best) best = now;
  }
  t->seconds[i][kind] = best;
  return DM_OK;
}

/* ---- one type ---- */

static dm_status make_matrices(tuner *t) {
  const int64_t size = t->sizes[DM_TILES_LARGE], bytes = size * size * dm_dtype_size(t->type);
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 1};
  void **const matrices[] = {&t->a, &t->b, &t->c};
  for (int i = 0; i < 3; i++) {
    DM_TRY(dm_backend_alloc(t->jit, DM_DEVICE, bytes, matrices[i]));
    const dm_view all = dm_view_strided(*matrices[i], t->type, DM_DEVICE, size, size, size);
    DM_TRY(dm_backend_fill(t->jit, all, &random, 0, 0));
  }
  void *memory;
  const int64_t check = (int64_t)CHECK_M * CHECK_N * dm_dtype_size(t->type);
  DM_TRY(dm_buffer_alloc(2 * check, &memory));
  t->wanted = memory;
  t->got = t->wanted + check;
  return multiply_check(t, t->warp_tile, t->wanted);
}

static dm_status measure(tuner *t) {
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
    t->sizes[kind] = dm_tiling_class_size((dm_tiling_class)kind, t->facts.processors);
  t->count = dm_tune_candidates(t->type, t->facts.shared, t->list);
  DM_TRY(make_matrices(t));
  for (int i = 0; i < t->count; i++) {
    DM_TRY(accept(t, i));
    for (int kind = 0; kind < DM_TILING_CLASSES && t->seconds[i][0] < DBL_MAX; kind++)
      DM_TRY(time_candidate(t, i, kind));
  }
  return DM_OK;
}

static double flops_of(const tuner *t, int i, int kind) {
  const double n = (double)t->sizes[kind];
  return t->seconds[i][kind] < DBL_MAX ? 2.0 * n * n * n / t->seconds[i][kind] : 0.0;
}

/* The fastest; BUILT_IN unless something is faster than it by more than runs differ. */
static int fastest(const tuner *t, int kind, const dm_tiling *built_in) {
  int best = -1;
  for (int i = 0; i < t->count; i++)
    if (dm_tiling_equal(&t->list[i], built_in) && t->seconds[i][kind] < DBL_MAX) best = i;
  for (int i = 0; i < t->count; i++)
    if (t->seconds[i][kind] < DBL_MAX &&
        (best < 0 || flops_of(t, i, kind) > gain * flops_of(t, best, kind)))
      best = i;
  return best;
}

/* A line for each candidate, an asterisk behind the fastest of a class. */
static void record_table(const tuner *t, const int best[DM_TILING_CLASSES], dm_record *record) {
  char label[32], line[256], text[128];
  for (int i = -1; i < t->count; i++) {
    size_t used = 0;
    for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
      used += (size_t)(i < 0 ? snprintf(line + used, sizeof line - used, "%6s %-6lld",
                                        dm_tiling_class_name((dm_tiling_class)kind),
                                        (long long)t->sizes[kind])
                             : snprintf(line + used, sizeof line - used, "%9.3f%-4s",
                                        flops_of(t, i, kind) * 1e-12, best[kind] == i ? "*" : ""));
    snprintf(line + used, sizeof line - used, " %s",
             i < 0 ? "tile sizes" : dm_tiling_format(&t->list[i], text));
    snprintf(label, sizeof label, i < 0 ? "%s, TFLOP/s" : "", dm_dtype_name(t->type));
    dm_record_line(record, label, line);
  }
}

static dm_status choose(const tuner *t, dm_tiling of[DM_TILING_CLASSES], dm_record *record) {
  int best[DM_TILING_CLASSES];
  char path[64], text[128];
  const dm_tilings built_in = dm_tilings_built_in();
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++) {
    best[kind] = fastest(t, kind, &built_in.of[dm_tiling_type(t->type)][kind]);
    if (best[kind] < 0)
      return dm_fail(DM_E_DEVICE, "no tile sizes of %s run on this GPU", dm_dtype_name(t->type));
    of[kind] = t->list[best[kind]];
    const char *const type = dm_dtype_name(t->type), *name = dm_tiling_class_name(kind);
    snprintf(path, sizeof path, "tunings.%s.%s.tiling", type, name);
    dm_record_text(record, path, NULL, "%s", dm_tiling_format(&of[kind], text));
    snprintf(path, sizeof path, "tunings.%s.%s.flops", type, name);
    dm_record_real(record, path, NULL, DM_SHOWN_FLOPS, flops_of(t, best[kind], kind));
  }
  record_table(t, best, record);
  return DM_OK;
}

static dm_status tune_type(tuner *t, dm_tilings *tilings, dm_record *record) {
  dm_log_line(t->log, DM_LOG_NOTE, "tuning %s", dm_dtype_name(t->type));
  dm_status status = measure(t);
  if (!status) status = choose(t, tilings->of[dm_tiling_type(t->type)], record);
  dm_backend_release(t->jit, DM_DEVICE, t->a);
  dm_backend_release(t->jit, DM_DEVICE, t->b);
  dm_backend_release(t->jit, DM_DEVICE, t->c);
  free(t->wanted);
  return status;
}

/* ---- all ---- */

/* What is there already; a file that is not ours or not of this machine is replaced. */
static void read_old(const char *path, const dm_jit_facts *facts, const dm_log *log,
                     dm_tilings *tilings) {
  bool found;
  dm_status status = dm_tilings_read(path, facts, &found, tilings);
  if (status) dm_log_line(log, DM_LOG_WARNING, "%s; it is replaced", status->message);
  dm_status_free(status);
}

static dm_status tune_open(const dm_tune *tune, const tuner *bare, dm_record *record) {
  const dm_jit_facts *facts = &bare->facts;
  static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};
  dm_tilings tilings;
  char path[DM_PATH], names[2][32];
  if (tune->output[0])
    snprintf(path, sizeof path, "%s", tune->output);
  else
    DM_TRY(dm_tilings_path(facts->gpu, path));
  read_old(path, facts, bare->log, &tilings);
  dm_record_text(record, "machine.device", "device", "%s", facts->gpu);
  dm_record_text(record, "machine.compiler", "compiler", "NVRTC %d.%d", facts->compiler / 1000,
                 facts->compiler / 10 % 100);
  for (int i = 0; i < DM_TILING_TYPES; i++) {
    tuner t = *bare;
    t.type = types[i];
    if (tune->types[i]) DM_TRY(tune_type(&t, &tilings, record));
    dm_tilings_name(&tilings, types[i], names[i]);
  }
  if (!tune->dry_run) DM_TRY(dm_tilings_write(path, !tune->output[0], &tilings, facts));
  dm_record_text(record, "tunings.file", "file", "%s%s", path,
                 tune->dry_run ? " (not written: --dry-run)" : "");
  dm_record_text(record, "tunings.f32.name", "in recipes, f32", "%s", names[0]);
  dm_record_text(record, "tunings.f64.name", "in recipes, f64", "%s", names[1]);
  dm_record_summary(record, "damier: tune f32=%s f64=%s%s", names[0], names[1],
                    tune->dry_run ? " DRY" : "");
  return DM_OK;
}

dm_status dm_tune_run(const dm_tune *tune, const dm_log *log, dm_record *record) {
  const dm_backend_config jit = {.local_ranks = 1, .kernel = "jit"},
                          other = {.local_ranks = 1, .kernel = "warp_tile"};
  const dm_backend_ops *ops;
  tuner t = {.log = log};
  DM_TRY(dm_context(dm_backend_find("cuda", &ops), "there is nothing to tune"));
  if (dm_backend_device_count(ops) == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "there is nothing to tune: this process sees no GPU"),
                   "tile sizes are those of the kernel jit, which runs on NVIDIA GPUs; nvidia-smi "
                   "lists them");
  DM_TRY(dm_backend_open(ops, &jit, &t.jit));
  dm_status status = dm_backend_open(ops, &other, &t.warp_tile);
  if (!status) status = ops->jit->facts(t.jit, &t.facts);
  if (!status) status = tune_open(tune, &t, record);
  dm_backend_close(t.warp_tile);
  dm_backend_close(t.jit);
  return status;
}
