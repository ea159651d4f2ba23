/* tune: which tile sizes of the kernel jit are fastest on this GPU. */
#ifndef DM_MEASURE_TUNE_H
#define DM_MEASURE_TUNE_H

#include "core/log.h"
#include "engine/tunings.h"
#include "run/record.h"

typedef struct dm_tune {
  bool types[DM_TILING_TYPES]; /* f32, f64 */
  int64_t sizes[8];            /* of the square products to tune; none: one for each class */
  int size_count;
  double seconds;       /* after which no further candidate is tried */
  char output[DM_PATH]; /* empty: the user's cache */
  bool dry_run;         /* the file is not written */
} dm_tune;

/* Not collective: one process, the first GPU that it sees.  Tries candidates of every type and
 * class, checks each against warp_tile bit for bit, measures them, and writes the best.  Tilings of
 * types and classes that were not asked for stay in the file. */
dm_status dm_tune_run(const dm_tune *tune, const dm_log *log, dm_record *record);

/* ---- candidates (tune_search.c): pure ---- */

enum { DM_TUNE_CANDIDATES = 64 };

/* Tilings that are known to be good somewhere; those that fit, at most DM_TUNE_CANDIDATES. */
int dm_tune_seeds(dm_dtype type, const dm_tiling_limits *limits, dm_tiling *list);

/* Those that differ from TILING by a step or two. */
int dm_tune_neighbours(const dm_tiling *tiling, dm_dtype type, const dm_tiling_limits *limits,
                       dm_tiling *list);

#endif
