/* bench_multiply_impl: what the files of bench_multiply share. */
#ifndef DM_MEASURE_BENCH_MULTIPLY_IMPL_H
#define DM_MEASURE_BENCH_MULTIPLY_IMPL_H

#include "check/verdict.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "measure/bench.h"
#include "measure/bench_host.h"
#include "measure/bench_library.h"
#include "measure/bench_round.h"
#include "measure/bench_tiles.h"

/* One size of the benchmark; the arrays have one entry per repetition. */
typedef struct dm_bench {
  dm_run *run;
  const dm_bench_multiply *wanted;
  dm_setup setup;
  dm_rank_state state;
  bool state_opened;
  dm_phases spent; /* by this rank in all repetitions */
  dm_bench_library call;
  dm_bench_one one;
  dm_bench_round rounded;
  dm_bench_host host;   /* where plan->brought */
  dm_bench_tiles tiles; /* where the plan returns C */
  dm_freivalds *check;
  dm_verdict worst; /* of all repetitions */
  int64_t count, room;
  double *seconds, *exposed, *verify, *library, *local;
  double watched;        /* seconds from the first repetition to the last */
  double energy;         /* J of this rank's share of its GPU meanwhile; NAN: not known */
  dm_bench_found *found; /* or NULL */
  bool narrow;           /* the interval has become as narrow as was wanted */
} dm_bench;

/* Collective: writes everything that was measured to RECORD, which is NULL but on rank 0. */
dm_status dm_bench_record(dm_bench *bench, dm_record *record);

#endif
