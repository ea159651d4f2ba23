/* statistics: of repeated measurements. */
#ifndef DM_RUN_STATISTICS_H
#define DM_RUN_STATISTICS_H

#include <stdint.h>

typedef struct dm_statistics {
  int64_t count;
  double median, least, most;
  double low, high; /* 95 % confidence interval of the median, from order statistics (binomial);
                       least and most where there are fewer than 6 values */
} dm_statistics;

/* Sorts VALUES. */
dm_statistics dm_statistics_of(double *values, int64_t count);

#endif
