/* moments: means and standard deviations of the rows or columns of a dataset. */
#ifndef DM_PRODUCT_MOMENTS_H
#define DM_PRODUCT_MOMENTS_H

#include "file/dataset.h"
#include "run/record.h"
#include "run/run.h"

/* Collective: reads DATASET once, on IO_THREADS threads per rank (negative: as many as help), and
 * makes the centering that STANDARD, which names lines, asks for; the caller frees it.
 *
 * Moments are those of the values in f64, whatever type they are rounded to afterwards; deviations
 * are divided by the number of elements less one. Blocks of rows are summed around their mean and
 * joined (Chan, Golub, LeVeque 1979), in an order that does not depend on the number of ranks. */
dm_status dm_moments_of(dm_run *run, int io_threads, const dm_dataset *dataset,
                        const dm_standard *standard, dm_centering **centering);

/* Collective: centers A and B, read as STANDARD states for each; the same lines of the same dataset
 * are read once. The caller frees MADE[0] and MADE[1] when A and B are no longer read, also after
 * an error. */
dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_standard standard[2],
                           dm_dataset *a, dm_dataset *b, dm_centering *made[2]);

/* Says in RECORD what is centered of SETS, A and B. */
void dm_centering_record(const dm_dataset *const sets[2], dm_record *record);

#endif
