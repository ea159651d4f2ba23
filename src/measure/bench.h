/* bench: what this machine reaches, with numbers that can be compared. */
#ifndef DM_MEASURE_BENCH_H
#define DM_MEASURE_BENCH_H

#include "job/multiply.h"

typedef struct dm_bench_multiply {
  int64_t m, n, k;
  dm_dtype type;
  dm_dtype type_c;
  int compute; /* as of dm_equation */
  dm_engine engine;
  bool from_device, from_host; /* operands start there; neither: where the plan puts them */
  bool verify;
  bool against_library; /* alternate with one library call of each rank's whole block of C */
  bool against_one; /* and once with the library's rate of one rank's block while all others rest */
  bool against_local; /* alternate with the same products of panels that lie ready */
  int warmup;
  int repetitions;  /* 0: at least 10, until the interval of the median is narrow or time is up */
  double precision; /* half of such an interval, relative to the median */
  double limit;     /* seconds of repetitions, with their verification */
  uint64_t seed;
} dm_bench_multiply;

/* What came of it, known to rank 0. */
typedef struct dm_bench_found {
  double median, low, high; /* seconds, with the 95 % interval */
  dm_plan plan;
  char transport[16];
} dm_bench_found;

/* Collective.  Multiplies generated matrices in memory; no files.  RECORD is filled on rank 0, and
 * FOUND (optional). */
dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *bench, dm_record *record,
                                dm_bench_found *found);

typedef struct dm_bench_io {
  char directory[DM_PATH]; /* where the scratch file is made, and removed again */
  int64_t bytes;           /* of the whole matrix */
  int repetitions;
  dm_output_form form; /* chunked: reading them is measured instead */
  int io_threads;      /* negative: as many as help */
} dm_bench_io;

/* Collective.  Plain pread and pwrite beside what the program's own reader and writer reach; of
 * chunks, their reading beside what one thread unpacks in memory. */
dm_status dm_bench_io_run(dm_run *run, const dm_bench_io *bench, dm_record *record);

enum { DM_LINK_SIZES = 32 };

typedef struct dm_bench_links {
  dm_engine engine; /* transport "auto": each that works */
  int64_t bytes[DM_LINK_SIZES];
  int sizes;
  int repetitions;
  bool alone; /* also each pair by itself, while all others rest */
} dm_bench_links;

/* Takes one record of several; on rank 0 alone. */
typedef dm_status dm_bench_told(void *context, dm_record *record);

/* Collective.  Every pair of ranks, one way and both ways; a record for each transport and size is
 * made on rank 0, and TELL called with it.  A pair whose bytes arrive wrong is an error. */
dm_status dm_bench_links_run(dm_run *run, const dm_bench_links *bench, dm_bench_told *tell,
                             void *context);

/* Byte counts of a list such as "8,64KiB,1MiB:64MiB:x4"; DM_E_USAGE. */
dm_status dm_bench_links_sizes(const char *text, dm_bench_links *bench);

typedef enum dm_scale_series {
  DM_SCALE_STRONG, /* the same product */
  DM_SCALE_MEMORY, /* all dimensions with the square root of the ranks: memory of a rank constant */
  DM_SCALE_WORK,   /* with the cube root: operations of a rank constant */
  DM_SCALE_SERIES
} dm_scale_series;

enum { DM_SCALE_COUNTS = 64 };

typedef struct dm_bench_scale {
  dm_bench_multiply base;             /* on the fewest ranks; its fill is a part of their memory */
  int counts[DM_SCALE_COUNTS], count; /* of ranks, ascending; none: powers of two, and all */
  bool series[DM_SCALE_SERIES];
  bool ablate_overlap, ablate_layers, ablate_transport;
} dm_bench_scale;

/* Collective.  On rank 0 TELL is called with a record of each measurement. */
dm_status dm_bench_scale_run(dm_run *run, const dm_bench_scale *scale, dm_bench_told *tell,
                             void *context);

const char *dm_scale_series_name(dm_scale_series series); /* "strong", "memory", "work" */

#endif
