/* provenance: the origin of C, as text attributes of its dataset, and the record of its product. */
#ifndef DM_PRODUCT_PROVENANCE_H
#define DM_PRODUCT_PROVENANCE_H

#include "check/freivalds.h"
#include "check/verdict.h"
#include "engine/phases.h"
#include "engine/setup.h"
#include "product/description.h"

/* VERDICT is NULL if the result was not verified. */
dm_status dm_provenance_of(const dm_multiply *multiply, const dm_setup *setup, const dm_run *run,
                           const dm_verdict *verdict, dm_attributes *attributes);

/* Adds to the empty LIST what MULTIPLY computes, but for its types and mode. READS_C: of an old C,
 * too.
 */
dm_status dm_provenance_inputs(dm_attributes *list, const dm_run *run, const dm_multiply *multiply,
                               bool reads_c);

/* Adds what RUN applied, or warned of so far; a longer text ends with "...". */
dm_status dm_provenance_notes(dm_attributes *list, const dm_run *run);

/* Adds types and compute mode of EQUATION, whose products are those of ROW. */
dm_status dm_provenance_arithmetic(dm_attributes *list, const dm_equation *equation,
                                   const dm_compute *row);

/* "n", "t", "c". */
const char *dm_op_name(dm_op op);

/* Adds "center columns, scale none" and the like for A and B, also if they are not centered with
 * ALWAYS. */
dm_status dm_provenance_centering(dm_attributes *list, const dm_multiply *multiply, bool always);

/* Adds what C is divided by: whoever verifies it divides alpha, too. */
dm_status dm_provenance_divide(dm_attributes *list, dm_divide divide);

/* Adds the command as typed, which only describes: a longer one ends with "...". */
dm_status dm_provenance_command(const dm_run *run, dm_attributes *list);
const char *dm_half_name(dm_half half); /* "both", "lower", "upper" */

/* Records what attributes of A, B and the old C (NULL: in memory, or none) say about their numbers,
 * and what was done. */
void dm_provenance_record(const dm_dataset *const sets[3], dm_record *record);

/* ---- the record of a multiplication from files to a file ---- */

typedef struct dm_multiplied {
  const dm_run *run;
  const dm_multiply *multiply;
  const dm_setup *setup;
  const dm_output_form *form; /* completed */
  dm_write_way way;           /* the way C's file was written */
  const dm_phases *worst, *mean;
  const dm_verdict *verdict; /* NULL: not verified */
  bool sums;                 /* C's sums were checked, before alpha and beta */
  bool read_back;            /* C was compared with what was written */
  int64_t unpacked;          /* chunks unpacked by all ranks */
  int64_t calls;             /* of the system, that read A and B on all ranks */
  double repeated;           /* seconds of the rounds before this one, whose C was wrong */
  double factor;             /* of a product by residues, see dm_scaling; 0: none */
  double seconds;            /* total */
} dm_multiplied;

void dm_multiply_record(const dm_multiplied *done, dm_record *record);

/* The record if an earlier run had already computed C. */
void dm_multiply_record_done(const dm_run *run, const dm_multiply *multiply,
                             const dm_problem *problem, dm_record *record);

#endif
