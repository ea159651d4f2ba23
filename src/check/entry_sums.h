/* entry_sums: the sums of Freivalds' check (check/freivalds.h) for small matrices in host
 * memory, all vectors of an entry at once. Only an entry that plainly passes is judged: finite,
 * with sums of squares that neither overflow nor vanish. */
#ifndef DM_CHECK_ENTRY_SUMS_H
#define DM_CHECK_ENTRY_SUMS_H

#include "backend/backend_table.h"
#include "core/row_bound.h"
#include "plan/problem.h"

typedef struct dm_entry_sums dm_entry_sums;

/* Whether the entries of WHOLE, each of the problem ONE, are of such matrices. */
bool dm_entry_sums_suit(const dm_problem *one, const dm_whole_product *whole);

/* Vectors for entries of that problem. */
dm_status dm_entry_sums_new(const dm_problem *one, const dm_row_factors *factors, uint64_t seed,
                            dm_entry_sums **sums);
void dm_entry_sums_free(dm_entry_sums *sums); /* NULL is allowed */

/* The entry after the one that comes now, or NULL: it is brought into the cache meanwhile. */
void dm_entry_sums_fetch(dm_entry_sums *sums, const dm_whole_product *next);

/* Takes the sums of A and B, rows of f64, f32, c128 or c64; false: the entry is not plain. */
bool dm_entry_sums_operands(dm_entry_sums *sums, dm_view a, dm_view b);

/* Judges C, which begins with row FIRST of the batch; false: it does not plainly pass. */
bool dm_entry_sums_judge(dm_entry_sums *sums, dm_view c, int64_t first);

/* All rows of the entries that passed. */
dm_rows_found dm_entry_sums_found(const dm_entry_sums *sums);

#endif
