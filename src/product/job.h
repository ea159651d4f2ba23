/* job: one round of a multiplication, with all that it holds; where its A, B, old C and C are, and
 * how the pipeline reaches them: in files, in host memory that all ranks see whole, which is read
 * and written like a file, or in the memory of the ranks, from where pieces are moved. */
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
  bool slow;                /* rank 0 stopped this round: the next one computes C in tiles */
  struct dm_repair *repair; /* of all rounds */
  dm_verdict verdict;
  bool shows_progress;
  dm_progress progress;
  dm_phases outside; /* phases outside the product */
} dm_job;

static inline bool dm_job_in_memory(const dm_job *job, int matrix) {
  return job->multiply->in_memory[matrix] != NULL;
}

/* Whether beta multiplies the elements that C has in memory. */
static inline bool dm_job_replaces_old(const dm_job *job) {
  const dm_multiply *m = job->multiply;
  return job->problem.reads_c && m->in_memory[DM_OLD] && m->in_memory[DM_OLD] == m->in_memory[DM_C];
}

static inline bool dm_job_is_read(const dm_job *job, int matrix) {
  return dm_multiply_is_read(job->multiply, matrix);
}

/* Whether its pieces are moved to the plan's places before the products. */
static inline bool dm_job_is_brought(const dm_job *job, int matrix) {
  return dm_job_in_memory(job, matrix) && !dm_job_is_read(job, matrix);
}

/* Whether C in memory gets its elements strip by strip, as a file does. */
static inline bool dm_job_is_written(const dm_job *job) {
  return dm_job_in_memory(job, DM_C) && job->multiply->whole_c.base;
}

/* Whether C in memory is summed first and gets its elements later. */
static inline bool dm_job_is_returned(const dm_job *job) {
  return dm_job_in_memory(job, DM_C) && !dm_job_is_written(job);
}

/* The problem as the planner sees it: what is in memory has its op applied already, unless it is
 * read. */
dm_status dm_job_describe(dm_job *job);

/* Collective: how the matrices in memory are divided. The product sees op(A) and op(B). */
dm_status dm_job_describe_memory(dm_job *job);

/* Sets what moves matrices in memory, and what becomes of C there. */
void dm_job_set_ends(dm_job *job);

/* Files whose rates the planner may know. */
dm_named_files dm_job_files(const dm_multiply *multiply);

/* Only the open backend shows whether GPU memory is accessible. */
dm_status dm_job_reach_memory(dm_job *job);

/* Collective: what an operand in memory is, for a later run that resumes this one. */
dm_status dm_job_identify_memory(dm_job *job);

/* Opens the readers of A, B and the old C. */
dm_status dm_job_open_inputs(dm_job *job);

/* A symmetric product adds a symmetric old C. */
dm_status dm_job_check_old(const dm_job *job);

#endif
