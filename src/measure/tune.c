#include "measure/tune.h"

#include <math.h>
#include <stdio.h>

#include "core/clock.h"
#include "engine/tilings.h"
#include "run/cache_file.h"

enum { ROUNDS = 3, MOST_PRODUCTS = 200 };

static const double batch = 2e-3; /* seconds of products per timing */

/* One type's tuning. */
typedef struct tuner {
  const dm_log *log;
  dm_backend *gpu;
  dm_jit_facts facts;
  int type;
  dm_dtype dtype;
  const dm_tiling *list;                                   /* candidates */
  int64_t sizes[DM_TILING_CLASSES];                        /* sizes of square products */
  void *matrices[3];                                       /* C, A, B of the largest size */
  double seconds[DM_TILING_CANDIDATES][DM_TILING_CLASSES]; /* INFINITY: cannot be used */
} tuner;

static dm_view square(const tuner *t, int matrix, int64_t size) {
  return dm_view_strided(t->matrices[matrix], t->dtype, DM_DEVICE, size, size, size);
}

static dm_status make_matrices(tuner *t) {
  const int64_t size = t->sizes[DM_TILES_LARGE];
  const dm_generator random = {.kind = DM_UNIFORM, .seed = 1};
  for (int i = 0; i < 3; i++) {
    DM_TRY(dm_backend_alloc(t->gpu, DM_DEVICE, size * size * dm_dtype_size(t->dtype),
                            &t->matrices[i]));
    DM_TRY(dm_backend_fill(t->gpu, square(t, i, size), &random, 0, 0));
  }
  return DM_OK;
}

/* Seconds per product, over COUNT products with the current tiling. */
static dm_status time_products(const tuner *t, int64_t size, int count, double *seconds) {
  dm_event done = 0;
  const double start = dm_now();
  for (int i = 0; i < count; i++)
    DM_TRY(dm_backend_gemm(t->gpu, square(t, 0, size), square(t, 1, size), square(t, 2, size),
                           false, &done));
  DM_TRY(dm_backend_wait(t->gpu, done));
  *seconds = (dm_now() - start) / count;
  return DM_OK;
}

/* The best of a few batches; the first product, which compiles the kernel, does not count. */
static dm_status time_candidate(tuner *t, int i, int kind) {
  const int64_t size = t->sizes[kind];
  double now, best;
  DM_TRY(time_products(t, size, 1, &now));
  DM_TRY(time_products(t, size, 1, &best));
  const int count = (int)fmin(MOST_PRODUCTS, 1 + batch / best);
  for (int round = 0; round < ROUNDS; round++) {
    DM_TRY(time_products(t, size, count, &now));
    best = round == 0 ? now : fmin(best, now);
  }
  t->seconds[i][kind] = best;
  return DM_OK;
}

/* Leaves out tilings that do not fit the GPU or do not compile. */
static dm_status try_candidate(tuner *t, int i) {
  char text[128];
  dm_tilings all = dm_tilings_built_in();
  dm_status status = DM_OK;
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++) {
    t->seconds[i][kind] = INFINITY;
    all.of[t->type][kind] = t->list[i];
  }
  if (dm_tiling_need_of(&t->list[i], t->dtype).shared > t->facts.shared) return DM_OK;
  DM_TRY(t->gpu->ops->jit->use(t->gpu, &all));
  for (int kind = 0; kind < DM_TILING_CLASSES && !status; kind++)
    status = time_candidate(t, i, kind);
  if (!status || status->code != DM_E_DEVICE) return status;
  dm_log_line(t->log, DM_LOG_WARNING, "%s of %s is skipped: %s",
              dm_tiling_format(&t->list[i], text), dm_dtype_name(t->dtype), status->message);
  dm_status_free(status);
  return DM_OK;
}

static int fastest(const tuner *t, int kind) {
  int best = 0;
  for (int i = 1; i < DM_TILING_CANDIDATES && t->list[i].bm > 0; i++)
    if (t->seconds[i][kind] < t->seconds[best][kind]) best = i;
  return best;
}

static double flops_of(const tuner *t, int i, int kind) {
  return 2.0 * pow((double)t->sizes[kind], 3) / t->seconds[i][kind];
}

/* Writes a line per candidate, with an asterisk after the fastest of a class. */
static void record_table(const tuner *t, dm_record *record) {
  char label[32], line[256], text[128];
  for (int i = -1; i < DM_TILING_CANDIDATES && (i < 0 || t->list[i].bm > 0); i++) {
    size_t used = 0;
    for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
      used += (size_t)(i < 0 ? snprintf(line + used, sizeof line - used, "%6s %-6lld",
                                        dm_tiling_class_name((dm_tiling_class)kind),
                                        (long long)t->sizes[kind])
                             : snprintf(line + used, sizeof line - used, "%9.3f%-4s",
                                        flops_of(t, i, kind) * 1e-12,
                                        fastest(t, kind) == i ? "*" : ""));
    snprintf(line + used, sizeof line - used, " %s",
             i < 0 ? "tile sizes" : dm_tiling_format(&t->list[i], text));
    snprintf(label, sizeof label, i < 0 ? "%s, TFLOP/s" : "", dm_dtype_name(t->dtype));
    dm_record_line(record, label, line);
  }
}

static dm_status choose(const tuner *t, dm_tiling of[DM_TILING_CLASSES], dm_record *record) {
  char path[64], text[128];
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++) {
    const char *const type = dm_dtype_name(t->dtype), *name = dm_tiling_class_name(kind);
    const int best = fastest(t, kind);
    if (isinf(t->seconds[best][kind]))
      return dm_fail(DM_E_DEVICE, "no tile sizes for %s run on this GPU", type);
    of[kind] = t->list[best];
    snprintf(path, sizeof path, "tunings.%s.%s.tiling", type, name);
    dm_record_text(record, path, NULL, "%s", dm_tiling_format(&of[kind], text));
    snprintf(path, sizeof path, "tunings.%s.%s.flops", type, name);
    dm_record_real(record, path, NULL, DM_SHOWN_FLOPS, flops_of(t, best, kind));
  }
  record_table(t, record);
  return DM_OK;
}

static dm_status tune_type(tuner *t, dm_tilings *tilings, dm_record *record) {
  dm_log_line(t->log, DM_LOG_NOTE, "tuning %s", dm_dtype_name(t->dtype));
  t->list = dm_tiling_candidates[t->type];
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
    t->sizes[kind] = dm_tiling_class_size((dm_tiling_class)kind, t->facts.processors);
  dm_status status = make_matrices(t);
  for (int i = 0; i < DM_TILING_CANDIDATES && t->list[i].bm > 0 && !status; i++)
    status = try_candidate(t, i);
  if (!status) status = choose(t, tilings->of[t->type], record);
  for (int i = 0; i < 3; i++) dm_backend_release(t->gpu, DM_DEVICE, t->matrices[i]);
  return status;
}

static dm_status tune_open(const dm_tune *tune, const tuner *bare, dm_record *record) {
  const dm_jit_facts *facts = &bare->facts;
  static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};
  dm_tilings tilings;
  char path[DM_PATH], names[2][32];
  bool found;
  snprintf(path, sizeof path, "%s", tune->output);
  if (!path[0]) DM_TRY(dm_tilings_path(facts->gpu, path));
  dm_cache_replaces(bare->log, dm_tilings_read(path, facts, &found, &tilings));
  dm_record_text(record, "machine.device", "device", "%s", facts->gpu);
  dm_record_text(record, "machine.compiler", "compiler", "NVRTC %d.%d", facts->compiler / 1000,
                 facts->compiler / 10 % 100);
  for (int i = 0; i < DM_TILING_TYPES; i++) {
    tuner t = *bare;
    t.type = i;
    t.dtype = types[i];
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
  const dm_backend_config config = {.local_ranks = 1, .kernel = "jit"};
  const dm_backend_ops *ops;
  tuner t = {.log = log};
  dm_status found = dm_context(dm_backend_find("cuda", &ops), "there is nothing to tune");
  if (found)
    return dm_hint(found, "tile sizes are those of the kernel jit, on GPUs; 'damier tune rates' "
                          "measures what the planner calculates with, on CPUs, too");
  if (dm_backend_device_count(ops) == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "there is nothing to tune: this process sees no GPU"),
                   "tile sizes are those of the kernel jit, which runs on NVIDIA GPUs; nvidia-smi "
                   "lists them");
  DM_TRY(dm_backend_open(ops, &config, &t.gpu));
  dm_status status = ops->jit->facts(t.gpu, &t.facts);
  if (!status) status = tune_open(tune, &t, record);
  dm_backend_close(t.gpu);
  return status;
}
