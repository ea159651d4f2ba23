/* result: where C of a product goes tile by tile: to a file, or to the ranks' memory. */
#ifndef DM_LIB_RESULT_H
#define DM_LIB_RESULT_H

#include "engine/setup.h"
#include "io/file_queue.h"
#include "job/multiply.h"
#include "lib/distributed.h"

/* All zero is closed. */
typedef struct dm_result {
  bool in_file;
  dm_distributed memory;
  /* ---- in a file ---- */
  dm_output_file file;
  dm_output *output;
  dm_file_queue *behind; /* writes it */
  dm_output_form form;   /* completed */
  bool is_made, is_named, stays;
} dm_result;

/* Collective: checks how memory is divided.  Nothing is made yet. */
dm_status dm_result_open(dm_run *run, const damier_matrix *stated, dm_result *result);

/* Collective, of a file, before the first tile: makes the part file of JOB's output for PROBLEM. */
dm_status dm_result_make(dm_run *run, const dm_multiply *job, const dm_problem *problem,
                         dm_result *result);

/* Elements of C from (row, col) on into the file; host memory, col_stride 1. */
dm_status dm_result_write(dm_result *result, const dm_run *run, int64_t row, int64_t col,
                          dm_view view);

/* Collective, of a file: all that was written gets its form and its name. */
dm_status dm_result_commit(dm_run *run, const dm_multiply *job, const dm_setup *setup,
                           const dm_verdict *verdict, dm_result *result);

/* A file without its name goes, unless it STAYS. */
void dm_result_close(dm_run *run, dm_result *result);

#endif
