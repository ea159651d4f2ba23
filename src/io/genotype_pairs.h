/* genotype_pairs: in how many variants both samples of a pair are known, counted from the missing
 * genotypes alone: of M variants, of which sample i misses m_i, they are M - m_i - m_j and those
 * that both miss. That takes less time than a product, as long as few are missing. */
#ifndef DM_IO_GENOTYPE_PAIRS_H
#define DM_IO_GENOTYPE_PAIRS_H

#include "dataset/dataset.h"

/* Whether this suits a matrix of so many genotypes. */
static inline bool dm_genotype_pairs_suit(int64_t variants, int64_t samples, int64_t missing) {
  const double part = 1.0 / 32.0;
  return (double)missing <= part * (double)variants * (double)samples;
}

typedef struct dm_genotype_pairs {
  const dm_dataset *set; /* variants x samples, of which 1 and 0 are read (DM_ROLE_PRESENT) */
  const double *weights; /* variants that count have one that is not negative; NULL: all count */
  int64_t first, count;  /* samples whose pairs with all samples are counted */
  int threads;
  bool verify;
  uint64_t seed;                 /* of the verification */
  const dm_keepalive *keepalive; /* or NULL */
} dm_genotype_pairs;

/* NUMBERS = COUNT rows of the samples' pairs, packed. With VERIFY each row's product with a random
 * vector is compared, exactly, with what follows from the variants: DM_E_VERIFY. */
dm_status dm_genotype_pairs_count(const dm_genotype_pairs *pairs, double *numbers);

#endif
