/* tune: finds the fastest tile sizes of the kernel jit on this GPU. */
#ifndef DM_MEASURE_TUNE_H
#define DM_MEASURE_TUNE_H

#include "backend/tiling.h"
#include "core/log.h"
#include "io/dataset.h"
#include "run/record.h"

typedef struct dm_tune {
  bool types[DM_TILING_TYPES]; /* f32, f64 */
  char output[DM_PATH];        /* empty: the user's cache */
  bool dry_run;                /* do not write the file */
} dm_tune;

/* Not collective: one process, its first visible GPU. Times each candidate that runs there on a
 * product of each class, best of three, and writes the fastest. Tilings of unselected types stay in
 * the file. */
dm_status dm_tune_run(const dm_tune *tune, const dm_log *log, dm_record *record);

#endif
