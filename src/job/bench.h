/* bench: what this machine reaches, with numbers that can be compared. */
#ifndef DM_JOB_BENCH_H
#define DM_JOB_BENCH_H

#include "job/multiply.h"

typedef struct dm_bench_multiply {
  int64_t m, n, k;
  dm_dtype type;
  dm_dtype type_c;
  dm_compute compute;
  dm_engine engine;
  bool from_device, from_host; /* operands start there; neither: where the plan puts them */
  bool verify;
  bool against_library; /* alternate with one library call of each rank's whole block of C */
  bool against_local;   /* alternate with the same products of panels that lie ready */
  int warmup;
  int repetitions;  /* 0: at least 10, until the interval of the median is narrow or time is up */
  double precision; /* half of such an interval, relative to the median */
  double limit;     /* seconds of repetitions, with their verification */
  uint64_t seed;
} dm_bench_multiply;

/* Collective.  Multiplies generated matrices in memory; no files.  RECORD is filled on rank 0. */
dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *bench, dm_record *record);

typedef struct dm_bench_io {
  char directory[DM_PATH]; /* where the scratch file is made, and removed again */
  int64_t bytes;           /* of the whole matrix */
  int repetitions;
  dm_output_form form; /* chunked: reading them is measured instead */
  int io_threads;      /* negative: as many as help */
} dm_bench_io;

/* Collective.  Plain pread and pwrite beside what the program's own reader and writer reach. */
dm_status dm_bench_io_run(dm_run *run, const dm_bench_io *bench, dm_record *record);

/* Collective.  Reading of packed chunks beside what one thread unpacks in memory. (bench_unpack.c)
 */
dm_status dm_bench_unpack_run(dm_run *run, const dm_bench_io *bench, dm_record *record);

enum { DM_LINK_SIZES = 32 };

typedef struct dm_bench_links {
  dm_engine engine; /* transport "auto": each that works */
  int64_t bytes[DM_LINK_SIZES];
  int sizes;
  int repetitions;
  bool alone; /* also each pair by itself, while all others rest */
} dm_bench_links;

/* Takes what was measured of one transport and one size; on rank 0 alone. */
typedef dm_status dm_bench_links_told(void *context, dm_record *record);

/* Collective.  Every pair of ranks, one way and both ways; a record for each transport and size is
 * made on rank 0, and TELL called with it.  A pair whose bytes arrive wrong is an error. */
dm_status dm_bench_links_run(dm_run *run, const dm_bench_links *bench, dm_bench_links_told *tell,
                             void *context);

/* Byte counts of a list such as "8,64KiB,1MiB:64MiB:x4"; DM_E_USAGE. */
dm_status dm_bench_links_sizes(const char *text, dm_bench_links *bench);

#endif
