#include "run/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Largest rank r (from 1) such that at most 2.5 % of all samples have fewer than r values below
 * their median: P(Binomial(n, 1/2) < r) <= 0.025. */
static int64_t lower_rank(int64_t n) {
  double term = pow(0.5, (double)n), below = 0.0;
  int64_t r = 0;
  while (r < n && below + term <= 0.025) {
    below += term;
    term *= (double)(n - r) / (double)(r + 1);
    r++;
  }
  return r;
}

dm_statistics dm_statistics_of(double *values, int64_t count) {
  dm_statistics s = {.count = count};
  if (count == 0) return s;
  qsort(values, (size_t)count, sizeof *values, compare);
  s.least = values[0];
  s.most = values[count - 1];
  s.median = 0.5 * (values[(count - 1) / 2] + values[count / 2]);
  /* pow(1/2, n) is 0 from n = 1075 on; counts that large do not occur. */
  int64_t r = lower_rank(count);
  s.low = r > 0 ? values[r - 1] : s.least;
  s.high = r > 0 ? values[count - r] : s.most;
  return s;
}

void dm_record_statistics(dm_record *record, const char *name, const char *unit, const char *label,
                          dm_shown shown, const dm_statistics *s) {
  const char *const parts[] = {"median", "min", "max", "ci95_low", "ci95_high"};
  const double values[] = {s->median, s->least, s->most, s->low, s->high};
  char path[96];
  for (int i = 0; i < 5; i++) {
    snprintf(path, sizeof path, "%s_%s%s", name, parts[i], unit);
    dm_record_real(record, path, i == 0 ? label : NULL, shown, values[i]);
  }
}

dm_statistics dm_record_times(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count) {
  char path[64];
  snprintf(path, sizeof path, "repetitions.%s_s", name);
  dm_record_series(record, path, values, count);
  const dm_statistics s = dm_statistics_of(values, count);
  snprintf(path, sizeof path, "times.%s", name);
  dm_record_statistics(record, path, "_s", label, DM_SHOWN_SECONDS, &s);
  return s;
}
