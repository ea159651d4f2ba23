/* generate: writes a matrix whose elements are a function of seed, row and column, in parallel. */
#ifndef DM_PROGRAMS_GENERATE_H
#define DM_PROGRAMS_GENERATE_H

#include "core/element.h"
#include "io/batch.h"
#include "io/output_form.h"
#include "run/record.h"
#include "run/run.h"

typedef struct dm_generate {
  dm_location out; /* checked by dm_output_check */
  int64_t rows, cols;
  dm_dtype dtype;
  dm_generator generator;
  dm_output_form form; /* completed */
  int io_threads;      /* threads that pack chunks; 0: none, -1: as many as help */
  dm_write_way write_by;
  bool force;
} dm_generate;

/* Collective. */
dm_status dm_generate_run(dm_run *run, const dm_generate *generate, dm_record *record);

#endif
