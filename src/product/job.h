/* job: one round of a multiplication, with all that it holds. */
#ifndef DM_PRODUCT_JOB_H
#define DM_PRODUCT_JOB_H

#include "engine/dataset_source.h"
#include "engine/product.h"
#include "product/description.h"
#include "product/file_sink.h"
#include "product/measured.h"
#include "product/memory_result.h"
#include "run/run.h"

/* One round of a multiplication, with all resources, so that one function closes them. */
typedef struct dm_job {
  dm_run *run;
  const dm_multiply *multiply; /* &own */
  dm_multiply own;
  dm_problem problem;       /* as planned */
  dm_distributed memory[4]; /* of matrices in memory: op(A), op(B), C, the old C */
  dm_memory_operands operands;
  dm_memory_result result;
  dm_measured measured;
  dm_reader *old; /* the old C in a file; or NULL */
  dm_freivalds *check;
  dm_run_products runs; /* of small entries, which have no CHECK */
  dm_setup setup;
  dm_product product;
  dm_dataset_source source;
  dm_file_queue *ahead;
  dm_file_sink sink;
  dm_output_form form; /* completed */
  dm_output_file file;
  dm_tile_states states;
  bool held;        /* C in memory is one tile, and not delivered yet */
  bool sums;        /* C's sums are verified, before they are finished */
  bool from_files;  /* C is verified from its file or memory, because of earlier tiles */
  bool expects_nan; /* rows or columns of C must be NaN */
  bool keep_part;
  bool read_back;           /* C was compared with what was written */
  bool judged;              /* VERDICT is set */
  bool again;               /* another round computes wrong tiles again */
  struct dm_repair *repair; /* of all rounds */
  dm_verdict verdict;
  bool shows_progress;
  dm_progress progress;
  dm_phases outside; /* phases outside the product */
} dm_job;

#endif
