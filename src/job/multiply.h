/* multiply: C = alpha op(A) op(B) + beta C from HDF5 files into an HDF5 file. */
#ifndef DM_JOB_MULTIPLY_H
#define DM_JOB_MULTIPLY_H

#include "check/freivalds.h"
#include "engine/engine.h"
#include "engine/equation.h"
#include "engine/phases.h"
#include "io/dataset.h"
#include "io/inspect.h"
#include "io/output.h"
#include "io/output_form.h"
#include "plan/plan.h"
#include "run/record.h"
#include "run/run.h"

/* When what was written of C is read again and compared, before C gets its name. */
typedef enum dm_read_back {
  DM_READ_BACK_AUTO, /* where it takes no more than a hundredth of the run's time */
  DM_READ_BACK_ALWAYS,
  DM_READ_BACK_NEVER,
} dm_read_back;

/* What follows where C is not alpha op(A) op(B) + beta C0. */
typedef enum dm_on_corruption {
  DM_ON_CORRUPTION_REPAIR, /* wrong tiles are computed again, each once: then DM_E_CORRUPT */
  DM_ON_CORRUPTION_STOP,   /* DM_E_VERIFY; C stays under its .part name */
  DM_ON_CORRUPTION_WARN,   /* C gets its name, with the verdict FAIL, and DM_E_UNCHECKED */
} dm_on_corruption;

typedef struct dm_multiply {
  dm_dataset a, b;
  bool has_c;
  dm_dataset c;      /* the old C, with beta */
  dm_location out;   /* checked by dm_output_check */
  char whole[DM_ID]; /* by dm_output_whole: what is there may be this result */
  dm_equation equation;
  dm_engine engine;
  dm_output_form form; /* of C in its file; completed when its shape is known */
  bool verify, force, allow_unchecked;
  bool verify_files; /* A, B and C are read from their files once more for the verification */
  dm_read_back read_back;
  bool protect;       /* shares of A and B that are verified have checksums, too */
  bool reserve_first; /* where GPUs multiply, the outcome's seconds begin when C's file has its
                         pages: a command's GPUs start meanwhile, a benchmark's run already */
  dm_on_corruption on_corruption;
  bool checkpoint;            /* tiles are recorded, so that a run that ends early can be resumed */
  double checkpoint_interval; /* seconds; 0: every tile as soon as it is there */
} dm_multiply;

/* What a multiplication was, on every rank. */
typedef struct dm_outcome {
  double seconds; /* from the first byte read until C has its name, of the rank that took longest */
  double before;  /* until then: planning, self-tests of transports, and making C's file */
  dm_phases worst;
  dm_plan plan;
  dm_write_way way;   /* that C's file was written in */
  dm_verdict verdict; /* where it was verified */
} dm_outcome;

/* Collective.  All ranks hold the same MULTIPLY.  On rank 0 RECORD is filled, also where the
 * verification failed (DM_E_VERIFY or DM_E_CORRUPT, agreed; the result then stays under its .part
 * name), could not tell of all of C, or failed and was only to warn (DM_E_UNCHECKED, agreed; the
 * result has its name).  OUTCOME may be NULL;
 * after an error it says nothing. */
dm_status dm_multiply_run(dm_run *run, const dm_multiply *multiply, dm_record *record,
                          dm_outcome *outcome);

#endif
