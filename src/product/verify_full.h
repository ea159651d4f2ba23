/* verify_full: multiplies small matrices again in higher precision and compares every element. */
#ifndef DM_PRODUCT_VERIFY_FULL_H
#define DM_PRODUCT_VERIFY_FULL_H

#include "check/freivalds.h"
#include "product/verify.h"

/* |C - C'| <= (k + 2) u |alpha| |A| |B| + u_c (|C'| + |beta C0|) element by element (Higham,
 * Accuracy and Stability, 2nd ed., eq. 3.13), C' in long double; whole numbers must be equal.
 * DM_E_USAGE if m n k exceeds 2^33. Collective. */
dm_status dm_verify_fully(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                          dm_verdict *verdict);

#endif
