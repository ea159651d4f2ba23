/* runs: lengths of the contiguous pieces that a rank reads of A and B, and the cost of short ones.
 *
 * A matrix lies in its file row by row, or in chunks.  Of columns that a rank needs, each row has
 * one run; where it needs all columns, the rows behind one another are one run. */
#ifndef DM_PLAN_RUNS_H
#define DM_PLAN_RUNS_H

#include "plan/plan.h"

enum { DM_RUN_LEAST = 1 << 15, DM_RUN_MOST = 1 << 17 }; /* bytes */

/* Bytes side by side in a file up to which panels are read together: longer runs are faster, but
 * then more has to be read before the first product (docs/results/read_strips.txt). */
int64_t dm_plan_run_wanted(const dm_plan *plan);

/* Bytes of a run of MATRIX in its file, as the rank with the largest share reads it. */
double dm_plan_run(const dm_plan *plan, dm_matrix matrix);

/* Part of a layer of MATRIX, above 0 up to 1, that is read together with its first panel. */
double dm_plan_together(const dm_plan *plan, dm_matrix matrix);

/* How often all of MATRIX is read before the first product, to find the exponents of residues where
 * a plan streams: once where pieces hold whole rows of op(A) or columns of op(B), as the exponents
 * follow from two looks at those; else twice.  0: not at all. */
int dm_plan_readings_ahead(const dm_plan *plan, dm_matrix matrix);

/* Bytes of such a piece, as it is multiplied; more are read at a time of larger matrices. */
int64_t dm_plan_pass_bytes(const dm_plan *plan, dm_matrix matrix);

/* Elements that are read ahead, of all ranks together. */
double dm_plan_words_ahead(const dm_plan *plan, dm_matrix matrix);

/* How many times as long reading takes by runs of BYTES as in one piece: 1 from 128 KiB on, below
 * it 7/8 + 16 KiB / BYTES, which lies between what was measured from the page cache and from a disk
 * (docs/results/read_strips.txt). */
double dm_run_factor(double bytes);

/* The same for the least that a rank of a grid pm x pn can have of both: bytes of A and B, each
 * times a factor that no plan with this grid undercuts. */
double dm_run_floor(const dm_problem *problem, int pm, int pn);

/* What is stated is a local disk.  What short runs cost on the file system of several nodes nobody
 * knows before it was measured, and it must not leave most of the nodes without work. */
static inline bool dm_counts_runs(const dm_machine *machine) {
  return machine->nodes == 1 || machine->reads_measured;
}

#endif
