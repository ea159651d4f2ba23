/* multiply_impl: shared by the parts of the pipeline. */
#ifndef DM_PRODUCT_MULTIPLY_IMPL_H
#define DM_PRODUCT_MULTIPLY_IMPL_H

#include "engine/dataset_source.h"
#include "engine/product.h"
#include "product/file_sink.h"
#include "product/measured.h"
#include "product/memory_operands.h"
#include "product/memory_result.h"
#include "product/multiply.h"
#include "run/progress.h"

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
  dm_setup setup;
  dm_product product;
  dm_dataset_source source;
  dm_file_queue *ahead;
  dm_file_sink sink;
  dm_output_form form; /* completed */
  dm_output_file file;
  dm_tile_states states;
  bool held;       /* C in memory is one tile, and not delivered yet */
  bool from_files; /* C is verified from its file or memory, because of earlier tiles */
  bool keep_part;
  bool read_back;           /* C was compared with what was written */
  bool judged;              /* VERDICT is set */
  bool again;               /* another round computes wrong tiles again */
  struct dm_repair *repair; /* of all rounds */
  dm_verdict verdict;
  bool shows_progress;
  dm_progress progress;
  dm_phases outside;     /* phases outside the product */
  double started, began; /* began: after planning and creating C's file */
} dm_job;

/* Whether it is in a file: not in memory, and not generated. */
static inline bool dm_multiply_in_file(const dm_multiply *m, int matrix) {
  return !m->in_memory[matrix] && !m->measurement;
}

/* One round of JOB, whose run, multiply, repair, alpha and beta are set: plans, multiplies,
 * verifies and commits. The caller closes the job, also after an error. (multiply.c) */
dm_status dm_job_work(dm_job *job, dm_record *record, dm_outcome *outcome);

/* Only plans it. */
dm_status dm_job_plan(dm_job *job, dm_record *record);

/* Bytes of A, B and the old C that this rank has read. */
int64_t dm_multiply_bytes_read(const dm_job *job);

/* The dm_product's progress; CONTEXT is the dm_job.  (multiply_rounds.c) */
dm_status dm_multiply_progress(void *context, int64_t done, int64_t total);

#endif
