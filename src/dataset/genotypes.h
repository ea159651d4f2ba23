/* genotypes: the codes of two bits in files of PLINK: four in a byte, the first in its lowest bits;
 * each line begins a byte. */
#ifndef DM_DATASET_GENOTYPES_H
#define DM_DATASET_GENOTYPES_H

#include <stdint.h>

/* What a missing genotype becomes; the others are 0, 1 and 2. */
enum { DM_GENOTYPE_MISSING = -1 };

/* Bytes of a line of COUNT genotypes. */
static inline int64_t dm_genotype_bytes(int64_t count) {
  return count / 4 + (count % 4 > 0);
}

/* Code I of LINE, and the number that CODE stands for. */
static inline int dm_genotype_code(const uint8_t *line, int64_t i) {
  return line[i / 4] >> 2 * (i % 4) & 3;
}
int8_t dm_genotype_of(int code);

/* TO = COUNT genotypes, STEP apart, from number FIRST of LINE on. */
void dm_genotypes_unpack(const uint8_t *line, int64_t first, int64_t step, int64_t count,
                         int8_t *to);

#endif
