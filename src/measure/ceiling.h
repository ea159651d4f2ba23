/* ceiling: what files give to several threads of every rank that do nothing but read, or write: the
 * rates that a job from file to file is measured by. */
#ifndef DM_MEASURE_CEILING_H
#define DM_MEASURE_CEILING_H

#include "io/dataset.h"
#include "io/write_way.h"
#include "run/run.h"

/* Bytes OFFSET up to OFFSET + BYTES of FILE. */
typedef struct dm_ceiling {
  char file[DM_PATH];
  int64_t offset, bytes;
} dm_ceiling;

/* Collective: seconds in which THREADS (at least 1) of each rank read, or write and sync, all of
 * COUNT ranges, each rank its part; of the rank that took longest.  Memory is at most 128 MiB per
 * rank, used again and again.  What is written must be there and have its length. */
dm_status dm_ceiling_read(dm_run *run, const dm_ceiling *ranges, int count, int threads,
                          double *seconds);
dm_status dm_ceiling_write(dm_run *run, const dm_ceiling *range, dm_write_way way, int threads,
                           double *seconds);

/* Seconds in which one thread unpacks all of DATASET from memory to memory, told from a part of it.
 * On one rank. */
dm_status dm_ceiling_unpack(const dm_dataset *dataset, double *seconds);

/* Makes a file of RANGE's length and reserves its space, anew.  On one rank. */
dm_status dm_ceiling_make(const dm_ceiling *range);

/* Lets FILE leave the page cache of this node, as far as the system heeds that; DM_E_USAGE where
 * its file system has no other place for it. */
dm_status dm_ceiling_forget(const char *file);

#endif
