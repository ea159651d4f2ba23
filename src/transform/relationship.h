/* relationship: which variants and samples the genomic relationship of samples comes from. With
 * x_vi the copies of an allele in sample i and p_v their frequency,
 *
 *   C_ij = sum over v of z_vi z_vj / N_ij,   z_vi = (x_vi - 2 p_v) / sqrt(2 p_v (1 - p_v)),
 *
 * over the variants that are known in both samples, of which there are N_ij, as PLINK 2 and GCTA
 * define it; where missing values become the mean, N is the number of all variants. Variants of
 * which p is 0 or 1 add nothing to the sum, but count. Those on X, Y and MT are left out. Which
 * allele is counted makes no difference. */
#ifndef DM_TRANSFORM_RELATIONSHIP_H
#define DM_TRANSFORM_RELATIONSHIP_H

#include "io/genotype_counts.h"
#include "run/run.h"

/* What the lists beside the files say of the rows and columns of a matrix of genotypes. */
typedef struct dm_relation {
  int64_t variants, samples;
  double *of_variants;      /* 1, or DM_LEFT_OUT: it is on X, Y or MT */
  double *of_samples;       /* 1, or DM_LEFT_OUT: it is not a founder, and only those are counted */
  int64_t left_out;         /* variants */
  int64_t founders;         /* samples from which allele frequencies are taken */
  int64_t missing;          /* genotypes, of all samples, in variants that are not left out */
  dm_allele_count *alleles; /* of each variant in the founders */
} dm_relation;

/* Collective: rank 0 reads the lists of SET's files, and all ranks count alleles; ALL: allele
 * frequencies are those of all samples, not of those without parents. DM_E_INPUT: SET holds other
 * numbers than genotypes, files of a stack do not have the same samples or variants, a chromosome
 * is unknown, nothing is left, or a variant of which founders have one allele varies in others. To
 * be closed also after an error. */
dm_status dm_relation_open(const dm_run *run, const dm_dataset *set, bool all,
                           dm_relation *relation);
void dm_relation_close(dm_relation *relation);

#endif
