/* bench_files: the multiplication from files to a file, and the lower bound of its time.
 *
 * It alternates the multiplication, only reading, only writing, and the product in memory. The
 * bound is the larger of the time of the products and that of reading and writing at the rates of
 * the files. */
#ifndef DM_BENCH_BENCH_FILES_H
#define DM_BENCH_BENCH_FILES_H

#include "bench/bench.h"

typedef struct dm_bench_files {
  dm_bench_multiply product; /* its from_* and against_* are ignored */
  char directory[DM_PATH];   /* parent of a temporary folder */
  dm_output_form form;       /* form of A and B */
  bool cold;                 /* A and B are dropped from the page cache before they are read */
  bool checkpoint;
  double checkpoint_interval;
} dm_bench_files;

/* Collective. Fills RECORD on rank 0; a failed verification ends the benchmark. */
dm_status dm_bench_files_run(dm_run *run, const dm_bench_files *bench, dm_record *record);

#endif
