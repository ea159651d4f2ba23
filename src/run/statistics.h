/* statistics: statistics of repeated measurements. */
#ifndef DM_RUN_STATISTICS_H
#define DM_RUN_STATISTICS_H

#include "run/record.h"

typedef struct dm_statistics {
  int64_t count;
  double median, least, most;
  double low, high; /* 95 % confidence interval of the median, from order statistics (binomial);
                     least and largest value if there are fewer than 6 */
} dm_statistics;

/* Sorts VALUES. */
dm_statistics dm_statistics_of(double *values, int64_t count);

/* Records S as "NAME_median" (with LABEL), "NAME_min", "NAME_max", "NAME_ci95_low" and
 * "NAME_ci95_high", each followed by UNIT ("_s"). */
void dm_record_statistics(dm_record *record, const char *name, const char *unit, const char *label,
                          dm_shown shown, const dm_statistics *s);

/* Records the seconds in VALUES as "repetitions.NAME_s", and their statistics as "times.NAME_...";
 * sorts VALUES. */
dm_statistics dm_record_times(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count);

#endif
