/* compute_choice: what --compute may say, and which row of the table of modes that is. */
#ifndef DM_CORE_COMPUTE_CHOICE_H
#define DM_CORE_COMPUTE_CHOICE_H

#include "core/compute.h"

/* For --compute: "auto", "f64", ..., NULL at the end. */
extern const char *const dm_compute_names[];

/* A choice of --compute: an index into the names, and in multiples of 256 the number of moduli, 0
 * for the row's own. */
typedef int dm_compute_choice;

/* "f64", "f64:int8:16"; false where TEXT is not a choice, *choice is then untouched. */
bool dm_compute_parse(const char *text, dm_compute_choice *choice);
void dm_compute_choice_text(dm_compute_choice choice, char text[24]);
/* The same with so many moduli, and how many it states: 0 leaves it to the row. */
dm_compute_choice dm_compute_with_moduli(dm_compute_choice choice, int moduli);
int dm_compute_moduli(dm_compute_choice choice);
/* "fastest": another row may be faster than that of auto and not less accurate. */
bool dm_compute_is_fastest(dm_compute_choice choice);

/* The row by which CHOICE serves inputs of type INPUT in a product of depth K, which decides how
 * many moduli there are where the choice does not; auto never lowers their precision, and fastest
 * begins with the row of auto.  DM_E_USAGE where none does. */
dm_status dm_compute_choose(dm_compute_choice choice, dm_dtype input, int64_t k, dm_compute *row);

/* The row by residues that is as accurate as PLAIN for products of WORK; false where none is. */
bool dm_compute_by_residues(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row);

/* The row that splits operands for products of WORK and is not less accurate than PLAIN by its
 * bound; false where none is. */
bool dm_compute_by_split(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row);

#endif
