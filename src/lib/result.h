/* result: the destination of C, tile by tile: a file, or the ranks' memory. */
#ifndef DM_LIB_RESULT_H
#define DM_LIB_RESULT_H

#include "engine/setup.h"
#include "io/file_queue.h"
#include "job/multiply.h"
#include "lib/distributed.h"

/* All zero means closed. */
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

/* Collective: checks the distribution in memory. Creates nothing. */
dm_status dm_result_open(dm_run *run, const damier_matrix *stated, dm_result *result);

/* Collective, for a file, before the first tile: creates the part file of JOB's output for
 * PROBLEM. */
dm_status dm_result_make(dm_run *run, const dm_multiply *job, const dm_problem *problem,
                         dm_result *result);

/* Writes elements of C from (row, col) to the file; host memory, col_stride 1. */
dm_status dm_result_write(dm_result *result, const dm_run *run, int64_t row, int64_t col,
                          dm_view view);

/* Collective, for a file: gives the complete file its form and its name. */
dm_status dm_result_commit(dm_run *run, const dm_multiply *job, const dm_setup *setup,
                           const dm_verdict *verdict, dm_result *result);

/* Removes a file that did not get its name, unless it STAYS. */
void dm_result_close(dm_run *run, dm_result *result);

#endif
