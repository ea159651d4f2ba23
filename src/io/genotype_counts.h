/* genotype_counts: how often alleles occur in the variants of a matrix of genotypes, counted in
 * their packed bytes. */
#ifndef DM_IO_GENOTYPE_COUNTS_H
#define DM_IO_GENOTYPE_COUNTS_H

#include "core/status.h"
#include "dataset/dataset.h"

/* Of a variant in the samples that count. */
typedef struct dm_allele_count {
  int64_t copies; /* of A1 */
  int64_t called; /* samples in which it is known */
} dm_allele_count;

/* Adds to COUNTS, one for each row of SET, what rows BEGIN to END - 1 have in the columns whose
 * WEIGHTS (or NULL: all) are not negative. SET is a file of genotypes, or made of such. Reads on
 * THREADS threads. */
dm_status dm_genotypes_count(const dm_dataset *set, int64_t begin, int64_t end,
                             const double *weights, int threads, dm_allele_count *counts);

#endif
