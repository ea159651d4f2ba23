#include "inspect/bed.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "dataset/file_system.h"
#include "dataset/genotypes.h"
#include "dataset/naming.h"
#include "inspect/bed_lists.h"

enum { BED_MAGIC = 2, BED_HEADER = 3 };

static bool is_bed(int fd) {
  char first[BED_MAGIC] = "";
  return dm_file_read_at(fd, first, BED_MAGIC, 0) == BED_MAGIC &&
         memcmp(first, "\x6c\x1b", BED_MAGIC) == 0;
}

/* The size says whether the three files belong together. */
static dm_status check_size(const dm_dataset *find, int64_t variants, int64_t samples) {
  const dm_location *at = &find->at;
  const int64_t stored = find->file_bytes - BED_HEADER, bytes = dm_dataset_bytes(find);
  if (stored == bytes) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_INPUT, at,
                            "has %lld bytes of genotypes; %lld variants (.bim) of %lld samples "
                            "(.fam) take %lld",
                            (long long)stored, (long long)variants, (long long)samples,
                            (long long)bytes),
                 stored < bytes ? "was it cut off, or are .bim and .fam those of another file?"
                                : "are .bim and .fam those of another file?");
}

static dm_status check_trust(const dm_location *at, const dm_trust *trust) {
  if (at->dataset[0])
    return dm_fail_at(DM_E_INPUT, at, "is a .bed file, whose one matrix has no name");
  if (trust->raw)
    return dm_fail_at(DM_E_USAGE, at, "holds codes of two bits, not numbers: --raw does not apply");
  if (trust->complex_axis == DM_COMPLEX_FIRST || trust->complex_axis == DM_COMPLEX_LAST)
    return dm_fail_at(DM_E_USAGE, at, "holds genotypes, which are real");
  return DM_OK;
}

static void set_meaning(const dm_trust *trust, dm_meaning *m) {
  *m = (dm_meaning){.active = true,
                    .found = true,
                    .missing = trust->missing,
                    .type = DM_I8,
                    .count = 1,
                    .real = {DM_GENOTYPE_MISSING},
                    .integers = {DM_GENOTYPE_MISSING}};
  snprintf(m->text, sizeof m->text, "copies of allele A1 (column 5 of .bim); missing: code 01");
}

static dm_status bed_examine(int fd, const dm_trust *trust, dm_dataset *find) {
  const dm_location *at = &find->at;
  unsigned char first[BED_HEADER] = "";
  int64_t variants, samples;
  DM_TRY(check_trust(at, trust));
  if (dm_file_read_at(fd, first, BED_HEADER, 0) < BED_HEADER)
    return dm_fail_at(DM_E_INPUT, at, "is cut off in its header");
  if (first[BED_MAGIC] > 1)
    return dm_fail_at(DM_E_INPUT, at,
                      "is not a .bed file of PLINK 1: its third byte is %d, not 1 or 0",
                      first[BED_MAGIC]);
  DM_TRY(dm_bed_each(at, DM_BED_VARIANTS, NULL, NULL, &variants));
  DM_TRY(dm_bed_each(at, DM_BED_SAMPLES, NULL, NULL, &samples));
  if (variants == 0 || samples == 0)
    return dm_fail_at(DM_E_INPUT, at, "has no %s: .%s is empty", variants ? "samples" : "variants",
                      variants ? "fam" : "bim");
  const dm_axes axes = {.count = 2, .extent = {variants, samples}};
  find->dtype = DM_I8;
  find->genotypes = true;
  find->by_columns = first[BED_MAGIC] == 0;
  DM_TRY(dm_examine_lay(trust, &axes, find));
  find->layout = DM_CONTIGUOUS;
  find->offset = BED_HEADER;
  find->stored_bytes = find->file_bytes - BED_HEADER;
  set_meaning(trust, &find->meaning);
  return check_size(find, variants, samples);
}

const dm_format dm_format_bed = {.name = "bed", .is = is_bed, .examine = bed_examine};
