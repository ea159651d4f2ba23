/* small_entries: batches of many small matrices in files. As tiles of the pipeline their entries
 * would cost more than their products: so runs of entries are read to host memory, multiplied and
 * verified there entry by entry (product/in_place.h), and written. */
#ifndef DM_PRODUCT_SMALL_ENTRIES_H
#define DM_PRODUCT_SMALL_ENTRIES_H

#include "product/description.h"
#include "run/record.h"
#include "run/run.h"

/* If MULTIPLY is such a product, on a single rank and with nothing asked for that takes the
 * pipeline, multiplies: *done. Not if some entries do not plainly pass their verification, since
 * they have NaN, Inf or extreme exponents: then no C is there, or it is incomplete in memory.
 * Nothing is recorded for a later run to resume. */
dm_status dm_small_entries_run(dm_run *run, const dm_multiply *multiply, dm_record *record,
                               bool *done);

#endif
