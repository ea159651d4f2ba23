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

/* What the verdict on C rests on: A and B as they passed, and C's elements as they were stored, or
 * its sums, from which elements are made after the verdict; or all of them, read again. */
typedef enum dm_verdict_basis {
  DM_BASIS_ELEMENTS,
  DM_BASIS_SUMS,
  DM_BASIS_REREAD
} dm_verdict_basis;

/* One round of a multiplication, with all resources, so that one function closes them. */
typedef struct dm_job {
  dm_run *run;
  const dm_multiply *multiply; /* &own */
  dm_multiply own;
  dm_problem problem;     /* as planned */
  dm_home home[DM_HOMES]; /* where A, B, C and the old C are; SHARES: generated there, C nowhere */
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
  dm_verdict_basis basis;
  bool held;        /* C in memory is one tile, and not delivered yet */
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
  const dm_home home = job->home[matrix];
  return home != DM_HOME_FILE && home != DM_HOME_SHARES;
}

/* Whether it is in a file, or in memory that all ranks see whole: read and written like a file. */
static inline bool dm_job_in_file(const dm_job *job, int matrix) {
  return job->home[matrix] == DM_HOME_FILE || job->home[matrix] == DM_HOME_SEEN;
}

/* Whether the ranks have its parts, which are moved to the plan's places, or C from there. */
static inline bool dm_job_is_moved(const dm_job *job, int matrix) {
  return job->home[matrix] == DM_HOME_HOST || job->home[matrix] == DM_HOME_DEVICE;
}

/* Whether beta multiplies the elements that C has in memory. */
static inline bool dm_job_replaces_old(const dm_job *job) {
  const dm_multiply *m = job->multiply;
  return job->problem.reads_c && m->in_memory[DM_OLD] && m->in_memory[DM_OLD] == m->in_memory[DM_C];
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

/* C in memory gets a single tile after its verdict, so that a wrong one replaces nothing. */
dm_status dm_job_deliver(dm_job *job);

/* DM_E_IO and others: an input was written while it was read, and C matches neither its old nor its
 * new elements. */
dm_status dm_job_unchanged(const dm_job *job);

#endif
