/* rates_measure: `damier tune rates`: measures what the planner wants to know of a computer. */
#ifndef DM_MEASURE_RATES_MEASURE_H
#define DM_MEASURE_RATES_MEASURE_H

#include "backend/backend.h"
#include "engine/rates.h"
#include "run/record.h"
#include "run/run.h"

/* Collective: measures with all ranks at work; with ENGINE's backend, transport and threads.  What
 * cannot be measured is 0.  (rates_measure.c) */
dm_status dm_rates_measure(dm_run *run, const dm_engine *engine, dm_rates_facts *facts,
                           dm_rates *rates);

/* Collective: *rate is bytes received from other nodes, at NETWORK bytes per second of each rank,
 * over the time by which they prolong products of f64; 0 where that cannot be told, or there are no
 * such messages or no products on the CPU.  (rates_beside.c) */
dm_status dm_rates_measure_beside(dm_run *run, dm_backend *backend, double network, double *rate);

/* Collective: reading and writing in FOLDER, as jobs do it, with all ranks at work; each
 * takes 128 MiB there for a while.  (rates_files.c) */
dm_status dm_rates_measure_files(dm_run *run, const char *folder, dm_rates *rates);

typedef struct dm_rates_tune {
  dm_engine engine;
  char output[DM_PATH]; /* empty: the user's cache */
  char files[DM_PATH];  /* the folder that files are measured in; empty: they are not */
  bool dry_run;         /* the file is not written */
} dm_rates_tune;

/* Collective: measures, and writes the file.  (rates_tune.c) */
dm_status dm_rates_tune_run(dm_run *run, const dm_rates_tune *tune, dm_record *record);

#endif
