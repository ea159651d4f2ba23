/* bed: genotypes of PLINK 1: G.bed has two bits for each, G.bim a line for each variant, G.fam one
 * for each sample. The matrix is variants x samples: how often allele A1 (column 5 of G.bim)
 * occurs, 0, 1 or 2, or missing. */
#ifndef DM_INSPECT_BED_H
#define DM_INSPECT_BED_H

#include "inspect/inspect_impl.h"

extern const dm_format dm_format_bed;

#endif
