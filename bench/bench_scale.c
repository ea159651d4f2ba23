/* bench_scale: the same benchmark on a growing number of ranks of one job. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cli/session.h"
#include "core/checked.h"
#include "core/units.h"

/* One measurement. */
typedef struct point {
  dm_scale_series series;
  int ranks;
  dm_bench_multiply wanted;
} point;

typedef struct bench_scale_bench {
  dm_run *run;
  dm_bench_scale *scale;
  dm_bench_found base; /* result of this series on the fewest ranks */
  bool titled;
  const dm_call *call;
} bench_scale_bench;

const char *dm_scale_series_name(dm_scale_series series) {
  static const char *const names[DM_SCALE_SERIES] = {"strong", "memory", "work"};
  return names[series];
}

/* ---- what is measured ---- */

static double rate_of(const dm_bench_found *f, double seconds) {
  return dm_product_flops(&f->plan.problem) / seconds;
}

static int64_t bench_scaled(int64_t base, double factor) {
  return dm_max(1, llround((double)base * factor));
}

static point planned_point(const bench_scale_bench *b, dm_scale_series series, int ranks) {
  static const double power[DM_SCALE_SERIES] = {0.0, 1.0 / 2, 1.0 / 3};
  point p = {.series = series, .ranks = ranks, .wanted = b->scale->base};
  const double factor = pow((double)ranks / b->scale->counts[0], power[series]);
  const dm_kernel_size *size = &b->scale->base.size;
  p.wanted.size = (dm_kernel_size){bench_scaled(size->m, factor), bench_scaled(size->n, factor),
                                   bench_scaled(size->k, factor)};
  return p;
}

/* ---- the record ---- */

static void record_ratio(dm_record *record, const char *name, const double values[3]) {
  static const char *const parts[3] = {"", "_ci95_low", "_ci95_high"};
  for (int i = 0; i < 3; i++) {
    char path[64];
    snprintf(path, sizeof path, "scale.%s%s", name, parts[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_PLAIN, values[i]);
  }
}

static void bench_show(bench_scale_bench *b, const point *p, const dm_bench_found *f,
                       const double speedup[3], const double efficiency[3], dm_record *record) {
  char label[64], text[320], grid[40], shape[80], seconds[32], rate[32];
  if (!b->titled)
    dm_record_line(record, "series, ranks       ",
                   "m x n x k               grid      time      rate            speed-up  "
                   "efficiency");
  b->titled = true;
  snprintf(label, sizeof label, "%-7s %5d       ", dm_scale_series_name(p->series), p->ranks);
  snprintf(grid, sizeof grid, "%dx%dx%d", f->plan.pm, f->plan.pn, f->plan.pk);
  snprintf(shape, sizeof shape, "%lld x %lld x %lld", (long long)f->plan.problem.m,
           (long long)f->plan.problem.n, (long long)f->plan.problem.k);
  snprintf(text, sizeof text, "%-22s  %-8s  %-8s  %-14s  %6.2f    %.3f [%.3f, %.3f]", shape, grid,
           dm_format_seconds(f->median, seconds), dm_format_flops(rate_of(f, f->median), rate),
           speedup[0], efficiency[0], efficiency[1], efficiency[2]);
  dm_record_line(record, label, text);
}

/* The interval of a ratio spans the extremes of both intervals. */
static dm_status report_point(bench_scale_bench *b, const point *p, const dm_bench_found *f,
                              dm_record *record) {
  if (p->ranks == b->scale->counts[0]) b->base = *f;
  const dm_bench_found *base = &b->base;
  const double more = (double)p->ranks / b->scale->counts[0];
  const double speedup[3] = {rate_of(f, f->median) / rate_of(base, base->median),
                             rate_of(f, f->high) / rate_of(base, base->low),
                             rate_of(f, f->low) / rate_of(base, base->high)};
  const double efficiency[3] = {speedup[0] / more, speedup[1] / more, speedup[2] / more};
  dm_record_hide(record);
  dm_record_text(record, "scale.series", NULL, "%s", dm_scale_series_name(p->series));
  dm_record_integer(record, "scale.base_ranks", NULL, DM_SHOWN_PLAIN, b->scale->counts[0]);
  dm_record_real(record, "scale.base_s", NULL, DM_SHOWN_SECONDS, base->median);
  dm_record_integer(record, "scale.job_ranks", NULL, DM_SHOWN_PLAIN, b->run->ranks);
  record_ratio(record, "speedup", speedup);
  record_ratio(record, "efficiency", efficiency);
  if (b->run->log.level > DM_LOG_WARNING) { /* at lower levels, a summary line */
    bench_show(b, p, f, speedup, efficiency, record);
    return dm_cli_publish(b->call, record);
  }
  dm_record_summary(record,
                    "series=%s ranks=%d grid=%dx%dx%d "
                    "median_s=%.6f speedup=%.3f efficiency=%.3f",
                    dm_scale_series_name(p->series), p->ranks, f->plan.pm, f->plan.pn, f->plan.pk,
                    f->median, speedup[0], efficiency[0]);
  return dm_cli_publish(b->call, record);
}

/* ---- measuring ---- */

/* All ranks of PART return the same outcome, except one that failed alone. */
static dm_status bench_scale_multiply(bench_scale_bench *b, const point *p, const dm_run *part) {
  dm_record *record = NULL;
  dm_bench_found found;
  dm_run quiet = *part; /* without the planner's notes of each run */
  if (quiet.log.level == DM_LOG_NOTE) quiet.log.level = DM_LOG_WARNING;
  const bool leads = part->rank == 0;
  dm_status status = leads ? dm_record_new("bench scale", part->command, &record) : DM_OK;
  status = dm_comm_agree(part->world, status);
  if (!status) {
    status = dm_bench_multiply_run(&quiet, &p->wanted, record, &found);
    if (!status)
      status = dm_comm_agree(part->world, leads ? report_point(b, p, &found, record) : DM_OK);
  }
  dm_record_free(record);
  return status;
}

static dm_status bench_scale_measure(bench_scale_bench *b, const point *p) {
  dm_run part;
  dm_log_line(&b->run->log, DM_LOG_NOTE, "measuring %s on %d rank%s",
              dm_scale_series_name(p->series), p->ranks, p->ranks == 1 ? "" : "s");
  DM_TRY(dm_run_part_open(b->run, p->ranks, &part));
  dm_status status = part.world ? bench_scale_multiply(b, p, &part) : DM_OK;
  /* A rank that failed alone must not wait: its peers still work. */
  if (status && !status->agreed && part.ranks > 1) return status;
  dm_run_phase(b->run, "waiting for those that multiply", 1);
  dm_status rested = dm_comm_idle_barrier(b->run->world);
  DM_TRY(dm_comm_agree(b->run->world, dm_status_first(status, rested)));
  dm_run_part_close(&part);
  return DM_OK;
}

static dm_status choose_counts(const dm_run *run, dm_bench_scale *scale) {
  if (scale->count > 0 && scale->counts[scale->count - 1] > run->ranks)
    return dm_hint(dm_fail(DM_E_USAGE, "option '--ranks': %d is more than the %d ranks of this job",
                           scale->counts[scale->count - 1], run->ranks),
                   "start more ranks, or ask for fewer");
  if (scale->count > 0) return DM_OK;
  for (int ranks = 1; ranks < run->ranks; ranks *= 2) scale->counts[scale->count++] = ranks;
  scale->counts[scale->count++] = run->ranks;
  return DM_OK;
}

dm_status dm_bench_scale_run(dm_run *run, const dm_bench_scale *wanted, const dm_call *call) {
  dm_bench_scale scale = *wanted;
  bench_scale_bench b = {.run = run, .scale = &scale, .call = call};
  const int pretended = scale.base.engine.pretend_nodes;
  DM_TRY(dm_comm_agree(run->world, choose_counts(run, &scale)));
  /* Once, for the whole job: a part inherits the nodes of its ranks. */
  if (pretended > 1) DM_TRY(dm_comm_agree(run->world, dm_run_pretend_nodes(run, pretended)));
  scale.base.engine.pretend_nodes = 1;
  for (int s = 0; s < DM_SCALE_SERIES; s++)
    for (int i = 0; i < scale.count && scale.series[s]; i++) {
      const point p = planned_point(&b, (dm_scale_series)s, scale.counts[i]);
      DM_TRY(bench_scale_measure(&b, &p));
    }
  return DM_OK;
}

/* ---- the verb ---- */

static dm_status add_count(dm_bench_scale *scale, const char *word) {
  int64_t ranks;
  const int last = scale->count > 0 ? scale->counts[scale->count - 1] : 0;
  if (!dm_parse_count(word, &ranks) || ranks <= last || ranks > INT32_MAX)
    return dm_hint(dm_fail(DM_E_USAGE, "option '--ranks': '%s'", word),
                   "give ascending numbers of ranks, separated by commas, such as 1,2,4,8");
  if (scale->count == DM_SCALE_COUNTS)
    return dm_fail(DM_E_USAGE, "option '--ranks': more than %d", DM_SCALE_COUNTS);
  scale->counts[scale->count++] = (int)ranks;
  return DM_OK;
}

static dm_status add_series(dm_bench_scale *scale, const char *word) {
  for (int i = 0; i < DM_SCALE_SERIES; i++) {
    if (strcmp(word, dm_scale_series_name((dm_scale_series)i)) != 0) continue;
    scale->series[i] = true;
    return DM_OK;
  }
  return dm_fail(DM_E_USAGE, "option '--series': '%s' is not one of strong, memory, work", word);
}

static dm_status find_scale(const dm_call *call, dm_bench_scale *scale) {
  int64_t mnk[3];
  char word[96];
  DM_TRY(dm_cli_dimensions(call, DM_BENCH_SIZE, mnk));
  const char *counts = call->own.sizes[0] ? call->own.sizes : NULL, *series = call->own.series;
  while (dm_next_word(&counts, ',', word)) DM_TRY(add_count(scale, word));
  while (dm_next_word(&series, ',', word)) DM_TRY(add_series(scale, word));
  scale->base.size = (dm_kernel_size){mnk[0], mnk[1], mnk[2]};
  return DM_OK;
}

static dm_status bench_scale(dm_run *run, const dm_call *call, void *shared, dm_record *record) {
  (void)record;
  dm_bench_scale scale = *(const dm_bench_scale *)shared;
  const dm_kernel_size size = scale.base.size;
  scale.base = dm_bench_wishes(call);
  scale.base.size = size;
  if (!dm_cli_given(call, "time")) scale.base.limit = 10; /* for each measurement */
  DM_TRY(dm_comm_agree(run->world, dm_bench_find_place(call, &scale.base)));
  return dm_bench_scale_run(run, &scale, call);
}

int dm_bench_verb_scale(dm_call *call) {
  dm_bench_scale scale = {.count = 0};
  dm_status prepared = dm_cli_speaks(call) ? find_scale(call, &scale) : DM_OK;
  return dm_bench_job(call, prepared, bench_scale, &scale, sizeof scale);
}
