/* rates_measure: `damier tune rates`: measures the planner's rates on a computer. */
#ifndef DM_MEASURE_RATES_MEASURE_H
#define DM_MEASURE_RATES_MEASURE_H

#include "backend/backend.h"
#include "engine/rates.h"
#include "run/record.h"
#include "run/run.h"

/* Collective: measures with all ranks at work, with ENGINE's backend, transport and threads. Rates
 * that cannot be measured are 0. (rates_measure.c) */
dm_status dm_rates_measure(dm_run *run, const dm_engine *engine, dm_rates_facts *facts,
                           dm_rates *rates);

/* Collective: *rate is the bytes received from other nodes, at NETWORK bytes per second and rank,
 * over the time by which they prolong f64 products. 0: too small to measure, no such messages, or
 * no products on the CPU. (rates_beside.c) */
dm_status dm_rates_measure_beside(dm_run *run, dm_backend *backend, double network, double *rate);

/* Collective: measures reading and writing in FOLDER, as in jobs, with all ranks at work; each
 * temporarily uses 128 MiB there. (rates_files.c) */
dm_status dm_rates_measure_files(dm_run *run, const char *folder, dm_rates *rates);

typedef struct dm_rates_tune {
  dm_engine engine;
  char output[DM_PATH]; /* empty: the user's cache */
  char files[DM_PATH];  /* folder for measuring files; empty: files are not measured */
  bool dry_run;         /* do not write the file */
} dm_rates_tune;

/* Collective: measures and writes the file. (rates_tune.c) */
dm_status dm_rates_tune_run(dm_run *run, const dm_rates_tune *tune, dm_record *record);

#endif
