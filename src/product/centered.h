/* centered: finds, before a product, what its factors are centered and scaled with, and what their
 * missing values become. */
#ifndef DM_PRODUCT_CENTERED_H
#define DM_PRODUCT_CENTERED_H

#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

/* Collective: sets the centering of A and B, in files, as EQUATION states for each, with numbers of
 * the user from VECTORS; if terms are weighted, also divides alpha. Both are read
 * once on IO_THREADS threads per rank (negative: as many as help); the same lines of the same
 * dataset once for both. Moments are those of the values in f64, whatever type they are rounded to
 * afterwards; deviations are divided by the number of elements less one, or what it is with
 * weights. DM_E_INPUT: values are missing, NaN included, and the dataset's meaning does not say
 * what they become; or numbers of the user are not suitable.
 *
 * The caller frees MADE[0] and MADE[1] when A and B are no longer read, also after an error. */
dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_vectors *vectors,
                           dm_equation *equation, dm_dataset *a, dm_dataset *b,
                           dm_centering *made[2]);

/* Says in RECORD what is centered of SETS, A and B. */
void dm_centering_record(const dm_dataset *const sets[2], dm_record *record);

#endif
