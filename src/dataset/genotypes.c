#include "dataset/genotypes.h"

#include <string.h>

/* The number of code I of byte B: 00 is two of A1, 01 missing, 10 one, 11 none. */
#define CODE(b, i) ((b) >> 2 * (i)&3)
#define ONE(b, i)                                                                                  \
  (CODE(b, i) == 0 ? 2 : CODE(b, i) == 1 ? DM_GENOTYPE_MISSING : CODE(b, i) == 2 ? 1 : 0)
#define GENOTYPES_FOUR(b)                                                                          \
  { ONE(b, 0), ONE(b, 1), ONE(b, 2), ONE(b, 3) }
#define BYTES_4(b)                                                                                 \
  GENOTYPES_FOUR(b), GENOTYPES_FOUR((b) + 1), GENOTYPES_FOUR((b) + 2), GENOTYPES_FOUR((b) + 3)
#define BYTES_16(b) BYTES_4(b), BYTES_4((b) + 4), BYTES_4((b) + 8), BYTES_4((b) + 12)
#define BYTES_64(b) BYTES_16(b), BYTES_16((b) + 16), BYTES_16((b) + 32), BYTES_16((b) + 48)

static const int8_t genotypes_of[256][4] = {BYTES_64(0), BYTES_64(64), BYTES_64(128),
                                            BYTES_64(192)};

int8_t dm_genotype_of(int code) {
  return genotypes_of[code][0];
}

static int8_t genotype(const uint8_t *line, int64_t i) {
  return dm_genotype_of(dm_genotype_code(line, i));
}

void dm_genotypes_unpack(const uint8_t *line, int64_t first, int64_t step, int64_t count,
                         int8_t *to) {
  int64_t i = 0;
  if (step == 1) {
    for (; i < count && (first + i) % 4 != 0; i++) to[i] = genotype(line, first + i);
    const uint8_t *at = line + (first + i) / 4;
    for (; i + 4 <= count; i += 4) memcpy(to + i, genotypes_of[*at++], 4);
  }
  for (; i < count; i++) to[i] = genotype(line, first + i * step);
}
