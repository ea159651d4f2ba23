/* compare: compares two matrices element by element, as numpy.isclose does, in pieces: neither need
 * fit in memory. */
#ifndef DM_PROGRAMS_COMPARE_H
#define DM_PROGRAMS_COMPARE_H

#include "dataset/dataset.h"
#include "run/record.h"
#include "run/run.h"

/* Elements a and b are close if |a - b| <= atol + rtol |b|, in f64 or c128; equal infinities are,
 * others are not, and NaN is close to nothing. */
typedef struct dm_compare {
  dm_dataset a, b;
  double rtol, atol;
  bool equal_nan; /* NaN is close to NaN */
} dm_compare;

/* Collective, with the same JOB on all ranks, which divide the rows. RECORD gets the counts and the
 * worst place. DM_E_VERIFY: an element is not close to the other, or the shapes
 * differ. */
dm_status dm_compare_run(dm_run *run, const dm_compare *job, dm_record *record);

#endif
