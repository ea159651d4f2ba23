/* pairwise: covariances and correlations of lines of which each pair counts only the observations
 * that both have, as pandas' DataFrame.cov and corr with min_periods=1.
 *
 * With z the values less the mean of their line, 0 where they are missing, and m = 1 where they are
 * not, else 0, these products are computed like any others, in f64, and kept in memory or in
 * files beside C until C is complete:
 *
 *   N = m m^T   P = z z^T   S = z m^T   and for correlations Q = z^2 m^T
 *
 *   covariance(i, j)  = (P_ij - S_ij S_ji / N_ij) / (N_ij - 1)
 *   correlation(i, j) = (P_ij - S_ij S_ji / N_ij) / sqrt(V_ij V_ji),  V_ij = Q_ij - S_ij^2 / N_ij
 *
 * Relationships of samples (relationship.h) are P_ij / N_ij, with z standardised by variants, which
 * are the observations; a file beside C keeps N.
 *
 * NaN: a pair has no observation, for a covariance by n - 1 only one, or one of its lines is
 * constant where it has them: V_ij <= 2^-44 Q_ij. */
#ifndef DM_PROGRAMS_PAIRWISE_H
#define DM_PROGRAMS_PAIRWISE_H

#include "product/in_place.h"
#include "product/verify.h"
#include "run/record.h"
#include "run/run.h"

/* Whether MULTIPLY is such a job; others are for dm_multiply_run. */
static inline bool dm_is_pairwise(const dm_multiply *multiply) {
  return multiply->a.meaning.missing == DM_MISSING_PAIRWISE;
}

/* The same for the verification of such a result. */
static inline bool dm_is_of_pairs(const dm_verify *verify) {
  return verify->a.meaning.missing == DM_MISSING_PAIRWISE;
}

/* Collective; as dm_multiply_run. MULTIPLY: X with itself, centered, for correlations scaled, and
 * not yet divided. If X or C is in memory, so are the products, in rows on all ranks: DM_E_FIT. If
 * X is in the memory of each rank's GPU, which has room for two copies of it in f64, all is
 * computed there, with KEPT (NULL: never). In files an interrupted run leaves the products that it
 * has made for the next one. */
dm_status dm_pairwise_run(dm_in_place *kept, dm_run *run, const dm_multiply *multiply,
                          dm_record *record);

/* Collective: computes C again in memory, each product verified, and compares every element with a
 * bound of the rounding. Otherwise as dm_verify_run; products run as ENGINE says. */
dm_status dm_pairwise_verify(dm_run *run, const dm_verify *verify, const dm_engine_options *engine,
                             dm_record *record);

#endif
