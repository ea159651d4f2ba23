/* tune_impl: what the files of tune share. */
#ifndef DM_MEASURE_TUNE_IMPL_H
#define DM_MEASURE_TUNE_IMPL_H

#include "measure/tune.h"

/* Matrices on the GPU, of random numbers. */
typedef struct dm_tune_product {
  dm_view c, a, b;
} dm_tune_product;

/* One type's tuning. */
typedef struct dm_tuner {
  dm_backend *backend;
  const dm_jit_ops *jit;
  const dm_log *log;
  dm_jit_facts facts;
  dm_dtype type;
  dm_tune_product checks[2]; /* small, awkward */
  void *wanted[2];           /* what warp_tile makes of them, in host memory */
  dm_tune_product product;   /* that is timed */
  int compiled, spilled, refused, wrong;
} dm_tuner;

/* ---- one candidate (tune_trial.c) ---- */

dm_status dm_tuner_open(dm_tuner *tuner);
void dm_tuner_close(dm_tuner *tuner);

/* Matrices of SIZE x SIZE in PRODUCT. */
dm_status dm_tuner_set_size(dm_tuner *tuner, int64_t size);

/* Whether TILING compiles without spilling registers and gives the bits of warp_tile. */
dm_status dm_tuner_accepts(dm_tuner *tuner, const dm_tiling *tiling, bool *accepted);

/* Median seconds of PAIRS runs of X and Y, which take turns. */
dm_status dm_tuner_compare(dm_tuner *tuner, const dm_tiling *x, const dm_tiling *y, int pairs,
                           double *x_seconds, double *y_seconds);

#endif
