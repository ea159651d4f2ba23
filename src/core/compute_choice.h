/* compute_choice: parses --compute and chooses the row of the table of modes. */
#ifndef DM_CORE_COMPUTE_CHOICE_H
#define DM_CORE_COMPUTE_CHOICE_H

#include "core/compute.h"

/* Values of --compute: "auto", "f64", ..., NULL at the end. */
extern const char *const dm_compute_names[];

/* A choice of --compute: an index into the names, plus 256 times the number of moduli, 0 for the
 * row's default. */
typedef int dm_compute_choice;

/* Parses "f64", "f64:int8:16", ...; false if TEXT is not a choice; *choice is then unchanged. */
bool dm_compute_parse(const char *text, dm_compute_choice *choice);
void dm_compute_choice_text(dm_compute_choice choice, char text[24]);
/* CHOICE with this number of moduli; the number that CHOICE states, 0: the row's default. */
dm_compute_choice dm_compute_with_moduli(dm_compute_choice choice, int moduli);
int dm_compute_moduli(dm_compute_choice choice);
/* "fastest": the planner may choose another row than auto's if it is faster and not less
 * accurate. */
bool dm_compute_is_fastest(dm_compute_choice choice);

/* The row that multiplies inputs of type INPUT with depth K for CHOICE. K determines the number of
 * moduli unless CHOICE states it. auto never lowers the inputs' precision; fastest starts from
 * auto's row. DM_E_USAGE if no row fits. */
dm_status dm_compute_choose(dm_compute_choice choice, dm_dtype input, int64_t k, dm_compute *row);

/* The row of residues that is as accurate as PLAIN for products of WORK; false if there is none. */
bool dm_compute_by_residues(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row);

/* The row that splits operands for products of WORK and whose bound is not larger than PLAIN's;
 * false if there is none. */
bool dm_compute_by_split(const dm_compute *plain, dm_dtype work, int64_t k, dm_compute *row);

#endif
