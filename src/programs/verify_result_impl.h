/* verify_result_impl: what the files of verify_result share. */
#ifndef DM_PROGRAMS_VERIFY_RESULT_IMPL_H
#define DM_PROGRAMS_VERIFY_RESULT_IMPL_H

#include "product/verify.h"

/* ---- what was kept of a C that was reduced (verify_reduced.c) ----
 *
 * Some lines of C, drawn by the seed, or all if that is little work or VERIFY->full, are computed
 * again in f64: an element of C is within (k + 2) u |alpha| |a| |b| of that (norms of the lines a
 * of op(A) and b of op(B)), and C's rounding. Within these bounds, values, their places, their
 * order and their completeness are those of the reduction. */

/* Collective: VERIFY's A and B are centered. DM_E_VERIFY, agreed: what is stored is not kept of
 * C; DM_E_UNCHECKED, agreed: elements may be infinite. */
dm_status dm_verify_reduced(dm_run *run, const dm_verify *verify, dm_record *record);

/* ---- small matrices again in higher precision (verify_full.c) ---- */

/* |C - C'| <= (k + 2) u |alpha| |A| |B| + u_c (|C'| + |beta C0|) element by element (Higham,
 * Accuracy and Stability, 2nd ed., eq. 3.13), C' in long double; whole numbers must be equal.
 * DM_E_USAGE if m n k exceeds 2^33. Collective. */
dm_status dm_verify_fully(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                          dm_verdict *verdict);

/* ---- C in its file against the checksums of its tiles from when it was computed (verify_tiles.c)
 * ---- */

/* Collective: sends rank 0's tiles of VERIFY to every rank, and opens VERIFY->sums. */
dm_status dm_verify_tiles_open(dm_run *run, dm_verify *verify);
void dm_verify_tiles_close(dm_verify *verify);

/* Collective, after every rank has added its part of C: DM_E_VERIFY, agreed, names the first tile
 * that has changed. */
dm_status dm_verify_tiles_compare(dm_run *run, const dm_verify *verify);

/* Collective: reads C only for the tiles. */
dm_status dm_verify_tiles_read(dm_run *run, const dm_verify *verify);

#endif
