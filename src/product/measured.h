/* measured: a product that the pipeline repeats for benchmarks. A and B are generated in the ranks'
 * memory, as in a program that multiplies its own matrices, and C goes nowhere: it stays there. */
#ifndef DM_PRODUCT_MEASURED_H
#define DM_PRODUCT_MEASURED_H

#include "check/verdict.h"
#include "engine/memory_source.h"
#include "engine/product.h"

/* A product that is open, with A and B in their places. Read only. */
typedef struct dm_measured {
  dm_product *product; /* with its run, setup, check and this rank's state */
  dm_generated_source generated;

  /* ---- private ---- */
  dm_memory_source source; /* operands in host memory that the plan copies to GPUs */
  dm_memory_sink sink;
  char *c;     /* this rank's part of every tile, tile after tile; NULL: C stays in the block */
  int64_t *at; /* offset of each part in it, in bytes */
} dm_measured;

/* What a caller of dm_multiply_run wants to measure. */
typedef struct dm_measurement {
  uint64_t seed;  /* of A and B */
  bool from_host; /* A and B start in host memory, where C returns to; else where the plan has them
                   */
  /* Collective, called once: repeats the product. Fills RECORD, NULL except on rank 0. Its status
   * is that of dm_multiply_run. */
  dm_status (*measure)(void *context, dm_measured *measured, dm_record *record);
  void *context;
} dm_measurement;

/* Collective: multiplies once, with old results and copies overwritten before. Of the slowest rank:
 * the seconds, and those of them without a product under way. */
dm_status dm_measured_run(dm_measured *measured, double *seconds, double *exposed);

/* Collective: the verdict on C as the last product left it, and this rank's seconds for it. */
dm_status dm_measured_verify(dm_measured *measured, double *seconds, dm_verdict *verdict);

/* This rank's part of C's current tile, in C's type; base NULL: C stays in the block. */
dm_view dm_measured_part(const dm_measured *measured);

/* ---- for the pipeline ---- */

/* DM_E_USAGE: PLAN returns a C that must be rounded on its way. */
dm_status dm_measured_check(const dm_plan *plan);

/* Collective: opens PRODUCT, all of which is set but source and sink, and brings A and B to where
 * they start. Close it before the product, also after an error. */
dm_status dm_measured_open(dm_measured *measured, dm_product *product,
                           const dm_measurement *wanted);
void dm_measured_close(dm_measured *measured);

#endif
