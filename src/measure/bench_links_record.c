/* The records of bench links: matrices from rank (row) to rank (column). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/units.h"
#include "measure/bench_links_impl.h"
#include "run/statistics.h"

enum { MOST_SHOWN = 16, MOST_LISTED = 256 }; /* most ranks of a matrix shown; recorded */

static const char *const names[DM_LINK_WAYS] = {"one_way", "both_ways", "together", "turn"};
static const char *const titles[DM_LINK_WAYS] = {"one way, alone", "both ways at once, alone",
                                                 "both ways, all ranks in pairs",
                                                 "exchanges in turn"};

/* Data from rank I to rank J. */
static const dm_link_value *at(const dm_link_table *t, dm_link_way way, int i, int j) {
  return &t->values[((int64_t)j * DM_LINK_WAYS + way) * t->run->ranks + i];
}

typedef struct summary {
  double median, least, most; /* over the medians of the pairs */
  int from, to;               /* ranks of the worst pair */
  int64_t count;
} summary;

static summary summary_of(const dm_link_table *t, dm_link_way way, double *scratch) {
  summary s = {.median = NAN, .least = NAN, .most = NAN};
  const bool time = way == DM_LINK_TURNS;
  double worst = 0;
  for (int i = 0; i < t->run->ranks; i++) {
    for (int j = 0; j < t->run->ranks; j++) {
      const double value = at(t, way, i, j)->median;
      if (!isfinite(value)) continue;
      if (s.count == 0 || (time ? value > worst : value < worst)) {
        worst = value;
        s.from = i;
        s.to = j;
      }
      scratch[s.count++] = value;
    }
  }
  if (s.count == 0) return s;
  const dm_statistics all = dm_statistics_of(scratch, s.count);
  s.median = all.median;
  s.least = all.least;
  s.most = all.most;
  return s;
}

/* ---- output for people ---- */

/* The unit that gives VALUE one to three digits before the point. */
static double unit_of(double value, bool time, const char **name) {
  static const char *const rates[] = {"GB/s", "MB/s", "kB/s", "B/s"};
  static const char *const times[] = {"s", "ms", "us", "ns"};
  const double units[2][4] = {{1e9, 1e6, 1e3, 1}, {1, 1e-3, 1e-6, 1e-9}};
  int i = 0;
  while (i < 3 && value < 0.9995 * units[time][i]) i++;
  *name = time ? times[i] : rates[i];
  return units[time][i];
}

/* Three digits or so, and no exponent. */
static const char *number(double value, char text[32]) {
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 4;
  snprintf(text, 32, "%.*f", digits, value);
  return text;
}

static void show_row(const dm_link_table *t, dm_link_way way, int i, double unit,
                     dm_record *record) {
  char text[16 * MOST_SHOWN], label[32];
  size_t used = 0;
  for (int j = 0; j < t->run->ranks; j++) {
    const double value = i < 0 ? 0.0 : at(t, way, i, j)->median / unit;
    char shown[32] = "-";
    if (i < 0)
      snprintf(shown, sizeof shown, "%d", j);
    else if (isfinite(value))
      number(value, shown);
    used += (size_t)snprintf(text + used, sizeof text - used, "%8s", shown);
  }
  snprintf(label, sizeof label, "  from rank %d", i);
  dm_record_line(record, i < 0 ? "  to rank" : label, text);
}

static void show(const dm_link_table *t, dm_link_way way, const summary *s, dm_record *record) {
  const char *name;
  char text[200], median[32], least[32], most[32];
  const bool time = way == DM_LINK_TURNS;
  const double unit = unit_of(s->median, time, &name);
  snprintf(text, sizeof text, "median %s, least %s, most %s %s; slowest from rank %d to %d",
           number(s->median / unit, median), number(s->least / unit, least),
           number(s->most / unit, most), name, s->from, s->to);
  dm_record_line(record, titles[way], text);
  if (t->run->ranks > MOST_SHOWN || t->run->ranks == 2) return;
  for (int i = -1; i < t->run->ranks; i++) show_row(t, way, i, unit, record);
}

/* ---- machine-readable output ---- */

static void list(const dm_link_table *t, dm_link_way way, const char *part, size_t member,
                 double *scratch, dm_record *record) {
  const int ranks = t->run->ranks;
  char path[64];
  for (int i = 0; i < ranks; i++)
    for (int j = 0; j < ranks; j++)
      scratch[(int64_t)i * ranks + j] = *(const double *)((const char *)at(t, way, i, j) + member);
  snprintf(path, sizeof path, "links.%s%s_%s", names[way], part,
           way == DM_LINK_TURNS ? "s" : "Bps");
  dm_record_matrix(record, path, scratch, ranks, ranks);
}

static void record_way(const dm_link_table *t, dm_link_way way, double *scratch,
                       dm_record *record) {
  const summary s = summary_of(t, way, scratch);
  const char *const parts[] = {"median", "least", "most"};
  const double numbers[] = {s.median, s.least, s.most};
  for (int i = 0; i < 3; i++) { /* including unknown values: the CSV has the same columns for all */
    char path[64];
    const bool time = way == DM_LINK_TURNS;
    snprintf(path, sizeof path, "%s.%s_%s_%s", time ? "times" : "rates", names[way], parts[i],
             time ? "s" : "Bps");
    dm_record_real(record, path, NULL, DM_SHOWN_PLAIN, numbers[i]);
  }
  if (s.count == 0) return;
  show(t, way, &s, record);
  if (t->run->ranks > MOST_LISTED) return;
  list(t, way, "", offsetof(dm_link_value, median), scratch, record);
  list(t, way, "_least", offsetof(dm_link_value, least), scratch, record);
  list(t, way, "_most", offsetof(dm_link_value, most), scratch, record);
}

dm_status dm_bench_links_record(const dm_link_table *t, dm_record *record) {
  double *scratch;
  char rate[32];
  const int64_t ranks = t->run->ranks;
  DM_TRY(dm_buffer_zeroed(ranks * ranks, sizeof *scratch, (void **)&scratch));
  dm_setup_record_machine(t->setup, t->run, record);
  dm_record_text(record, "transport.name", "transport", "%s", t->ops->name);
  dm_record_text(record, "transport.about", NULL, "%s", t->ops->about);
  dm_record_integer(record, "bench.bytes", "pieces", DM_SHOWN_BYTES, t->bytes);
  dm_record_integer(record, "bench.repetitions", "repetitions", DM_SHOWN_PLAIN,
                    t->wanted->repetitions);
  dm_record_flag(record, "bench.alone", NULL, t->wanted->alone);
  for (int way = 0; way < DM_LINK_WAYS; way++) record_way(t, (dm_link_way)way, scratch, record);
  dm_record_text(record, "verification.verdict", "bytes compared", "PASS");
  const summary s = summary_of(t, t->wanted->alone ? DM_LINK_ONE_WAY : DM_LINK_TOGETHER, scratch);
  dm_record_summary(record, "damier: bench links transport=%s bytes=%lld ranks=%d median=%s PASS",
                    t->ops->name, (long long)t->bytes, t->run->ranks,
                    s.count > 0 ? dm_format_rate(s.median, rate) : "-");
  free(scratch);
  return DM_OK;
}
