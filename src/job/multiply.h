/* multiply: C = alpha op(A) op(B) + beta C from HDF5 files into an HDF5 file. */
#ifndef DM_JOB_MULTIPLY_H
#define DM_JOB_MULTIPLY_H

#include "io/dataset.h"
#include "io/inspect.h"
#include "io/output_form.h"
#include "io/write_way.h"
#include "job/freivalds.h"
#include "job/record.h"
#include "job/run.h"
#include "job/task.h"
#include "plan/plan.h"

typedef enum dm_compute {
  DM_COMPUTE_AUTO,
  DM_COMPUTE_F64,
  DM_COMPUTE_F32,
  DM_COMPUTE_TF32,
} dm_compute;

/* Of a job, as far as they have names; NULL: none.  They tell which rates of files are theirs. */
typedef struct dm_named_files {
  const char *reads[3], *writes;
} dm_named_files;

/* How a product is to be computed: common to multiply and bench. */
typedef struct dm_engine {
  const char *backend;   /* "auto", "cpu", "cuda" */
  const char *kernel;    /* "auto" or a name of the backend's */
  const char *transport; /* "auto" or a name of dm_transport_all */
  int threads;           /* of the CPU product, per rank; 0: the node's cores over its ranks */
  int io_threads;        /* that read and write files, per rank; 0: none, -1: as many as help */
  dm_write_way write_by;
  int64_t memory_host, memory_device; /* bytes per rank; 0: this rank's share of the node */
  bool require_gpu_per_rank;
  int pretend_nodes; /* that each computer counts as; 0 or 1: it is what it is */
  double fill;       /* not 0: a square product that fills this part of memory, whatever is posed */
  bool stated_rates; /* plan with stated rates, whatever was measured */
  dm_named_files files;
  dm_wishes wishes;
} dm_engine;

/* The numbers of the equation. */
typedef struct dm_equation {
  dm_op op_a, op_b;
  double alpha[2], beta[2]; /* real, imaginary */
  dm_dtype type;            /* both inputs are first rounded to it; DM_DTYPE_NONE: as they are */
  dm_dtype type_c;          /* DM_DTYPE_NONE: follows from the inputs */
  dm_compute compute;
} dm_equation;

typedef struct dm_multiply {
  dm_dataset a, b;
  bool has_c;
  dm_dataset c;    /* the old C, with beta */
  dm_location out; /* checked by dm_output_check */
  dm_equation equation;
  dm_engine engine;
  dm_output_form form; /* of C in its file; completed when its shape is known */
  bool verify, force;
  bool checkpoint;            /* tiles are recorded, so that a run that ends early can be resumed */
  double checkpoint_interval; /* seconds; 0: every tile as soon as it is there */
} dm_multiply;

/* "auto", "f64", "f32", "tf32"; false for anything else. */
bool dm_compute_parse(const char *name, dm_compute *compute);
const char *dm_compute_name(dm_compute compute);

/* The problem that A, B and the equation pose: shapes agree, types are allowed.  DM_E_USAGE or
 * DM_E_INPUT otherwise.  Pure. (problem_of.c) */
dm_status dm_problem_of(const dm_dataset *a, const dm_dataset *b, const dm_dataset *c,
                        const dm_equation *equation, dm_problem *problem);

/* Work, accumulator and C type for inputs of type INPUT. DM_E_USAGE where they cannot be had. */
dm_status dm_types_of(dm_dtype input, dm_dtype type_c, dm_compute compute, dm_problem *problem);

/* What a multiplication was, on every rank. */
typedef struct dm_outcome {
  double seconds; /* from the first byte read until C has its name, of the rank that took longest */
  double before;  /* until then: planning, proofs, and making C's file */
  dm_phases worst;
  dm_plan plan;
  dm_write_way way;   /* that C's file was written in */
  dm_verdict verdict; /* where it was verified */
} dm_outcome;

/* Collective.  All ranks hold the same MULTIPLY.  On rank 0 RECORD is filled, also where the
 * verification failed (DM_E_VERIFY, agreed; the result then stays under its .part name).  OUTCOME
 * may be NULL; after an error it says nothing. */
dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record,
                          dm_outcome *outcome);

#endif
