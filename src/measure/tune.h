/* tune: which tile sizes of the kernel jit are fastest on this GPU. */
#ifndef DM_MEASURE_TUNE_H
#define DM_MEASURE_TUNE_H

#include "backend/tiling.h"
#include "core/log.h"
#include "io/dataset.h"
#include "run/record.h"

typedef struct dm_tune {
  bool types[DM_TILING_TYPES]; /* f32, f64 */
  char output[DM_PATH];        /* empty: the user's cache */
  bool dry_run;                /* the file is not written */
} dm_tune;

/* Not collective: one process, the first GPU that it sees.  Times each candidate that runs on it on
 * a product of each class, the best of three, and writes the fastest.  Tilings of a type that was
 * not asked for stay in the file. */
dm_status dm_tune_run(const dm_tune *tune, const dm_log *log, dm_record *record);

#endif
