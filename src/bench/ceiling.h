/* ceiling: the rates of files for several threads of every rank that only read or write: the upper
 * bound for jobs with files. */
#ifndef DM_BENCH_CEILING_H
#define DM_BENCH_CEILING_H

#include "file/dataset.h"
#include "file/file_writer.h"
#include "run/run.h"

/* Bytes from OFFSET to OFFSET + BYTES of FILE. */
typedef struct dm_ceiling {
  char file[DM_PATH];
  int64_t offset, bytes;
} dm_ceiling;

/* Collective: seconds in which THREADS (at least 1) of each rank read all COUNT ranges, or write
 * and sync RANGE, each rank its part; the slowest rank counts. Each rank reuses at most 128 MiB of
 * memory. A file to write must exist and have its length. */
dm_status dm_ceiling_read(dm_run *run, const dm_ceiling *ranges, int count, int threads,
                          double *seconds);
dm_status dm_ceiling_write(dm_run *run, const dm_ceiling *range, dm_write_way way, int threads,
                           double *seconds);

/* Creates a new file of RANGE's length and reserves its space. On one rank. */
dm_status dm_ceiling_make(const dm_ceiling *range);

/* Drops FILE from the page cache of this node, as far as the system does that; DM_E_USAGE: its file
 * system is in memory. */
dm_status dm_ceiling_forget(const char *file);

#endif
