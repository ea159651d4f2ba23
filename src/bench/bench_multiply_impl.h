/* bench_multiply_impl: shared declarations of bench_multiply. */
#ifndef DM_BENCH_BENCH_MULTIPLY_IMPL_H
#define DM_BENCH_BENCH_MULTIPLY_IMPL_H

#include "bench/bench.h"
#include "bench/bench_home.h"
#include "bench/bench_library.h"
#include "check/verdict.h"
#include "engine/phases.h"
#include "engine/product.h"
#include "engine/setup.h"
#include "engine/source.h"

/* One size of the benchmark; the arrays have one entry per repetition. */
typedef struct dm_bench {
  dm_run *run;
  const dm_bench_multiply *wanted;
  dm_setup setup;
  dm_generated_source generated;
  dm_product product;
  dm_bench_home home;
  dm_phases warm; /* this rank's times before the first repetition */
  dm_bench_library call;
  dm_bench_one one;
  dm_freivalds *check;
  dm_verdict worst; /* worst of all repetitions */
  int64_t count, room;
  double *seconds, *exposed, *verify, *library, *local;
  double watched;        /* seconds from the first repetition to the last */
  double energy;         /* J of this rank's share of its GPU in that time; NAN: unknown */
  dm_bench_found *found; /* or NULL */
  bool narrow;           /* the interval is as narrow as requested */
} dm_bench;

/* Collective: writes all measurements to RECORD, which is NULL except on rank 0. */
dm_status dm_bench_record(dm_bench *bench, dm_record *record);

#endif
