/* given: A, B or the old C of a product: a dataset of a file, or a matrix in the ranks' memory.
 * Either is brought, part by part, to where the ranks want it. */
#ifndef DM_LIB_GIVEN_H
#define DM_LIB_GIVEN_H

#include "engine/dataset_input.h"
#include "lib/distributed.h"
#include "run/run.h"

/* One of them; all zero is closed. */
typedef struct dm_given {
  bool in_file;
  dm_op op;
  dm_distributed memory;  /* of op(X) */
  dm_dataset_input input; /* of X; leans on no queue of its own */
  dm_dataset dataset;
} dm_given;

/* What it is opened from; NAME is for people. */
typedef struct dm_given_facts {
  const damier_matrix *stated;
  const dm_dataset *dataset; /* of a file: as rank 0 found it */
  const char *name;
  dm_op op;
  dm_dtype as;          /* type that elements of a file are rounded to first, or DM_DTYPE_NONE */
  dm_file_queue *ahead; /* reads files */
} dm_given_facts;

/* Collective.  Close frees also what a failed open has left; AHEAD is closed before. */
dm_status dm_given_open(dm_run *run, const dm_given_facts *facts, dm_given *given);
void dm_given_close(dm_given *given);

/* Collective: EXTENT of op(X) goes to where the ranks have it at TO, which counts from its first
 * row and column. */
dm_status dm_given_bring(dm_given *given, const dm_run *run, dm_extent extent, const dm_end *to);

/* DM_E_IO where its file was written since it was inspected. */
dm_status dm_given_unchanged(const dm_given *given);

#endif
