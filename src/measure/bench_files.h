/* bench_files: the whole way from files to a file, beside what it cannot be faster than.
 *
 * Alternating: the multiplication as it is; the same without overlap; reading and writing alone, by
 * plain threads; and the products of the same plan alone.  The bound is the larger of the products
 * and of what is read and written at the rates of the files. */
#ifndef DM_MEASURE_BENCH_FILES_H
#define DM_MEASURE_BENCH_FILES_H

#include "measure/bench.h"

typedef struct dm_bench_files {
  dm_bench_multiply product; /* its places, and what it is compared with, are not looked at */
  char directory[DM_PATH];   /* a folder is made in it, and removed again */
  dm_output_form form;       /* of A and B */
  bool cold;                 /* A and B leave the page cache before they are read */
  bool checkpoint;
  double checkpoint_interval;
} dm_bench_files;

/* Collective.  RECORD is filled on rank 0; a verification that fails ends it. */
dm_status dm_bench_files_run(dm_run *run, const dm_bench_files *bench, dm_record *record);

#endif
