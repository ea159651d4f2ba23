/* generate: writes a matrix whose elements are a function of seed, row and column, in parallel. */
#ifndef DM_PROGRAMS_GENERATE_H
#define DM_PROGRAMS_GENERATE_H

#include "core/element.h"
#include "product/rows_file.h"
#include "run/record.h"

typedef struct dm_generate {
  dm_generator generator;
  dm_rows_file file; /* but for its functions */
} dm_generate;

/* Collective. */
dm_status dm_generate_run(dm_run *run, const dm_generate *generate, dm_record *record);

#endif
