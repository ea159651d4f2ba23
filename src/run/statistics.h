/* statistics: of repeated measurements. */
#ifndef DM_RUN_STATISTICS_H
#define DM_RUN_STATISTICS_H

#include "run/record.h"

typedef struct dm_statistics {
  int64_t count;
  double median, least, most;
  double low, high; /* 95 % confidence interval of the median, from order statistics (binomial);
                       least and most where there are fewer than 6 values */
} dm_statistics;

/* Sorts VALUES. */
dm_statistics dm_statistics_of(double *values, int64_t count);

/* S as "NAME_median" (with LABEL), "NAME_min", "NAME_max", "NAME_ci95_low" and "NAME_ci95_high",
 * each with UNIT ("_s") behind it. */
void dm_record_statistics(dm_record *record, const char *name, const char *unit, const char *label,
                          dm_shown shown, const dm_statistics *s);

/* The seconds VALUES of repetitions as "repetitions.NAME_s", and their statistics as
 * "times.NAME_..."; then they are sorted. */
dm_statistics dm_record_times(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count);

#endif
