#include "measure/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/units.h"
#include "measure/tune_impl.h"

enum { KNOWN = 1024, QUICK = 3, PAIRS = 7, FINAL_PAIRS = 15 };

static const dm_dtype types[DM_TILING_TYPES] = {DM_F32, DM_F64};

/* What must be gained for one tiling to take the place of another: more than two runs of the same
 * differ by; and what is lost in a quick look that is not worth a second one. */
static const double gain = 1.005, hopeless = 0.95;

/* A tiling that was looked at, so that no class compiles it again. */
typedef struct known {
  dm_tiling tiling;
  bool accepted;
  int tried; /* by classes: bits */
} known;

typedef struct search {
  dm_tuner tuner;
  known *known;
  int count;
  double deadline;
} search;

/* NULL where there is no room for it. */
static known *find(search *s, const dm_tiling *tiling, bool *is_new) {
  *is_new = false;
  for (int i = 0; i < s->count; i++)
    if (dm_tiling_equal(&s->known[i].tiling, tiling)) return &s->known[i];
  if (s->count == KNOWN) return NULL;
  *is_new = true;
  s->known[s->count] = (known){.tiling = *tiling};
  return &s->known[s->count++];
}

/* CANDIDATE takes the place of *best where it is faster. */
static dm_status challenge(search *s, int kind, const dm_tiling *candidate, dm_tiling *best) {
  bool is_new;
  double mine, its;
  known *k = find(s, candidate, &is_new);
  if (!k || k->tried >> kind & 1 || dm_now() > s->deadline) return DM_OK;
  k->tried |= 1 << kind;
  if (is_new) DM_TRY(dm_tuner_accepts(&s->tuner, candidate, &k->accepted));
  if (!k->accepted || dm_tiling_equal(candidate, best)) return DM_OK;
  DM_TRY(dm_tuner_compare(&s->tuner, candidate, best, QUICK, &mine, &its));
  if (mine * hopeless > its) return DM_OK;
  DM_TRY(dm_tuner_compare(&s->tuner, candidate, best, PAIRS, &mine, &its));
  if (mine * gain > its) return DM_OK;
  char text[128];
  dm_log_line(s->tuner.log, DM_LOG_DETAIL, "%s %s: %s is %.3f times as fast",
              dm_dtype_name(s->tuner.type), dm_tiling_class_name((dm_tiling_class)kind),
              dm_tiling_format(candidate, text), its / mine);
  *best = *candidate;
  return DM_OK;
}

/* Side by side, before they are needed one after the other. */
static dm_status compile_ahead(search *s, int kind, const dm_tiling *list, int count) {
  if (dm_now() > s->deadline) return DM_OK;
  dm_log_line(s->tuner.log, DM_LOG_NOTE, "%s %s: %d candidates", dm_dtype_name(s->tuner.type),
              dm_tiling_class_name((dm_tiling_class)kind), count);
  return s->tuner.jit->compile_all(s->tuner.backend, s->tuner.type, list, count);
}

/* From the best seed on to better neighbours, until there are none or time is up. */
static dm_status climb(search *s, int kind, dm_tiling *best) {
  dm_tiling list[DM_TUNE_CANDIDATES], from;
  int count = dm_tune_seeds(s->tuner.type, &s->tuner.facts.limits, list);
  DM_TRY(compile_ahead(s, kind, list, count));
  for (int i = 0; i < count; i++) DM_TRY(challenge(s, kind, &list[i], best));
  do {
    from = *best;
    count = dm_tune_neighbours(&from, s->tuner.type, &s->tuner.facts.limits, list);
    DM_TRY(compile_ahead(s, kind, list, count));
    for (int i = 0; i < count; i++) DM_TRY(challenge(s, kind, &list[i], best));
  } while (!dm_tiling_equal(&from, best) && dm_now() <= s->deadline);
  return DM_OK;
}

static dm_status tune_class(search *s, int kind, int64_t size, dm_tuned *tuned) {
  const dm_tilings built_in = dm_tilings_built_in();
  const dm_tiling first = built_in.of[dm_tiling_type(s->tuner.type)][kind];
  bool is_new, accepted;
  double best_seconds, first_seconds;
  dm_tiling best = first;
  DM_TRY(dm_tuner_set_size(&s->tuner, size));
  known *k = find(s, &first, &is_new);
  if (k && is_new) DM_TRY(dm_tuner_accepts(&s->tuner, &first, &k->accepted));
  accepted = k && k->accepted;
  if (!accepted)
    return dm_fail(DM_E_DEVICE, "the tiling of %s that is built in does not run on this GPU",
                   dm_dtype_name(s->tuner.type));
  DM_TRY(climb(s, kind, &best));
  DM_TRY(dm_tuner_compare(&s->tuner, &best, &first, FINAL_PAIRS, &best_seconds, &first_seconds));
  if (best_seconds > first_seconds) { /* it was luck */
    best = first;
    best_seconds = first_seconds;
  }
  const double flops = 2.0 * (double)size * (double)size * (double)size;
  *tuned = (dm_tuned){.measured = true,
                      .tiling = best,
                      .size = size,
                      .flops = flops / best_seconds,
                      .built_in_flops = flops / first_seconds};
  return DM_OK;
}

static dm_status find_sizes(const dm_tune *tune, int processors, int64_t sizes[]) {
  for (int i = 0; i < DM_TILING_CLASSES; i++)
    sizes[i] = tune->size_count ? 0 : dm_tiling_class_size((dm_tiling_class)i, processors);
  for (int i = 0; i < tune->size_count; i++) {
    const int64_t size = tune->sizes[i];
    const dm_tiling_class kind = dm_tiling_class_of(size, size, processors);
    if (sizes[kind])
      return dm_hint(dm_fail(DM_E_USAGE, "--sizes %lld and %lld are both %s on this GPU",
                             (long long)sizes[kind], (long long)size, dm_tiling_class_name(kind)),
                     "one size for each class; without --sizes they are chosen");
    sizes[kind] = size;
  }
  return DM_OK;
}

/* Large products first: what is left of the time goes to the next. */
static dm_status tune_type(search *s, const int64_t sizes[], double end,
                           dm_tuned tuned[DM_TILING_CLASSES]) {
  int left = 0;
  for (int i = 0; i < DM_TILING_CLASSES; i++) left += sizes[i] > 0;
  DM_TRY(dm_tuner_open(&s->tuner));
  for (int kind = DM_TILING_CLASSES - 1; kind >= 0; kind--) {
    if (sizes[kind] == 0) continue;
    const double now = dm_now();
    s->deadline = now + (end - now) / left--;
    DM_TRY(tune_class(s, kind, sizes[kind], &tuned[kind]));
  }
  return DM_OK;
}

static void record_type(const search *s, const dm_tunings *tunings, const int64_t sizes[],
                        dm_record *record) {
  const char *type = dm_dtype_name(s->tuner.type);
  char path[64], label[64], tiling[128], rate[32], old[32];
  for (int kind = DM_TILING_CLASSES - 1; kind >= 0; kind--) {
    const dm_tuned *t = &tunings->of[dm_tiling_type(s->tuner.type)][kind];
    const char *name = dm_tiling_class_name((dm_tiling_class)kind);
    if (sizes[kind] == 0) continue;
    snprintf(path, sizeof path, "tunings.%s.%s.tiling", type, name);
    snprintf(label, sizeof label, "%s, %s (%lld)", type, name, (long long)t->size);
    dm_record_text(record, path, label, "%s", dm_tiling_format(&t->tiling, tiling));
    snprintf(path, sizeof path, "tunings.%s.%s.rates", type, name);
    dm_record_text(record, path, "  rate", "%s; built in: %s (%+.1f %%)",
                   dm_format_flops(t->flops, rate), dm_format_flops(t->built_in_flops, old),
                   100.0 * (t->flops / t->built_in_flops - 1.0));
    snprintf(path, sizeof path, "tunings.%s.%s.flops", type, name);
    dm_record_real(record, path, NULL, DM_SHOWN_FLOPS, t->flops);
    snprintf(path, sizeof path, "tunings.%s.%s.built_in_flops", type, name);
    dm_record_real(record, path, NULL, DM_SHOWN_FLOPS, t->built_in_flops);
  }
  snprintf(path, sizeof path, "tunings.%s.candidates", type);
  snprintf(label, sizeof label, "%s, candidates", type);
  dm_record_text(record, path, label, "%d compiled, %d spilled registers, %d refused, %d wrong",
                 s->tuner.compiled, s->tuner.spilled, s->tuner.refused, s->tuner.wrong);
}

static dm_status tune_types(const dm_tune *tune, dm_backend *backend, const dm_jit_facts *facts,
                            const dm_log *log, dm_tunings *tunings, dm_record *record) {
  int64_t sizes[DM_TILING_CLASSES];
  int left = tune->types[0] + tune->types[1];
  const double end = dm_now() + tune->seconds;
  DM_TRY(find_sizes(tune, facts->processors, sizes));
  for (int t = 0; t < DM_TILING_TYPES; t++) {
    if (!tune->types[t]) continue;
    search s = {.tuner = {.backend = backend,
                          .jit = backend->ops->jit,
                          .log = log,
                          .facts = *facts,
                          .type = types[t]}};
    const double now = dm_now();
    dm_log_line(log, DM_LOG_NOTE, "tuning %s", dm_dtype_name(types[t]));
    DM_TRY(dm_buffer_zeroed(KNOWN, sizeof *s.known, (void **)&s.known));
    dm_status status = tune_type(&s, sizes, now + (end - now) / left--, tunings->of[t]);
    dm_tuner_close(&s.tuner);
    free(s.known);
    DM_TRY(status);
    record_type(&s, tunings, sizes, record);
  }
  return DM_OK;
}

/* What is there already; a file that is not ours or not of this machine is replaced. */
static void read_old(const char *path, const dm_jit_facts *facts, const dm_log *log,
                     dm_tunings *tunings) {
  bool found;
  dm_status status = dm_tunings_read(path, facts, &found, tunings);
  if (status) dm_log_line(log, DM_LOG_WARNING, "%s; it is replaced", status->message);
  dm_status_free(status);
}

static dm_status tune_open(const dm_tune *tune, dm_backend *backend, const dm_log *log,
                           dm_record *record) {
  dm_jit_facts facts;
  dm_tunings tunings;
  char path[DM_PATH], names[2][32];
  DM_TRY(backend->ops->jit->facts(backend, &facts));
  if (tune->output[0])
    snprintf(path, sizeof path, "%s", tune->output);
  else
    DM_TRY(dm_tunings_path(facts.gpu, path));
  read_old(path, &facts, log, &tunings);
  dm_record_text(record, "machine.device", "device", "%s", facts.gpu);
  dm_record_text(record, "machine.compiler", "compiler", "NVRTC %d.%d", facts.compiler / 1000,
                 facts.compiler / 10 % 100);
  DM_TRY(tune_types(tune, backend, &facts, log, &tunings, record));
  if (!tune->dry_run) DM_TRY(dm_tunings_write(path, !tune->output[0], &tunings, &facts));
  const dm_tilings tilings = dm_tunings_tilings(&tunings);
  for (int t = 0; t < DM_TILING_TYPES; t++) dm_tilings_name(&tilings, types[t], names[t]);
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
  dm_backend *backend;
  DM_TRY(dm_context(dm_backend_find("cuda", &ops), "there is nothing to tune"));
  if (dm_backend_device_count(ops) == 0)
    return dm_hint(dm_fail(DM_E_DEVICE, "there is nothing to tune: this process sees no GPU"),
                   "tile sizes are those of the kernel jit, which runs on NVIDIA GPUs; nvidia-smi "
                   "lists them");
  DM_TRY(dm_backend_open(ops, &config, &backend));
  dm_status status = tune_open(tune, backend, log, record);
  dm_backend_close(backend);
  return status;
}
