/* bench_files_impl: shared declarations of bench_files. */
#ifndef DM_BENCH_BENCH_FILES_IMPL_H
#define DM_BENCH_BENCH_FILES_IMPL_H

#include "bench/bench_files.h"
#include "bench/ceiling.h"
#include "engine/setup.h"

enum { DM_MOST_TURNS = 100, DM_MOST_WIDTHS = 12, DM_MOST_WAYS = 2 };
enum { DM_MOST_WRITERS = DM_MOST_WAYS * DM_MOST_WIDTHS };

/* A way to write, and its threads per rank. */
typedef struct dm_writers {
  dm_write_way way;
  int threads;
} dm_writers;

/* Phases' time that products do not hide. */
typedef enum dm_exposed {
  DM_EXPOSED_READ,
  DM_EXPOSED_MOVE,
  DM_EXPOSED_REDUCE,
  DM_EXPOSED_WRITE,
  DM_EXPOSED_VERIFY,
  DM_EXPOSED_COMMIT,
  DM_EXPOSED_PHASES
} dm_exposed;

/* One size; the arrays have one entry per turn. */
typedef struct dm_files_bench {
  dm_run *run;
  const dm_bench_files *wanted;
  char folder[DM_PATH];
  dm_multiply multiply;
  dm_ceiling inputs[2], scratch;
  int widths, width[DM_MOST_WIDTHS]; /* threads per rank for the ceilings, ... */
  bool slow_read[DM_MOST_WIDTHS];    /* ... left out if reading was slow */
  int writers;
  dm_writers writer[DM_MOST_WRITERS]; /* same for writing */
  bool slow_write[DM_MOST_WRITERS];
  dm_outcome last; /* outcome of a run with overlap */
  dm_verdict worst;
  int64_t own; /* dm_setup_process_bytes before the first run */
  int64_t count;
  double seconds[DM_MOST_TURNS], plain[DM_MOST_TURNS], compute[DM_MOST_TURNS];
  double before[DM_MOST_TURNS];
  double read[DM_MOST_WIDTHS][DM_MOST_TURNS], write[DM_MOST_WRITERS][DM_MOST_TURNS];
  double exposed[DM_EXPOSED_PHASES][DM_MOST_TURNS];
} dm_files_bench;

/* Collective: creates the folder with A and B, and the files for the ceilings.
 * (bench_files_make.c) */
dm_status dm_bench_files_make(dm_files_bench *bench);
void dm_bench_files_remove(const dm_files_bench *bench); /* rank 0 */

/* Rank 0: records all measurements. SETUP has the machine and the plan. (bench_files_record.c) */
void dm_bench_files_record(dm_files_bench *bench, const dm_setup *setup, dm_record *record);

#endif
