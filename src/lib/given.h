/* given: A, B or the old C of a product: a dataset in a file, or a matrix in the ranks' memory.
 * Both are moved, part by part, to where the ranks need them. */
#ifndef DM_LIB_GIVEN_H
#define DM_LIB_GIVEN_H

#include "engine/dataset_input.h"
#include "lib/distributed.h"
#include "run/run.h"

/* All zero means closed. */
typedef struct dm_given {
  bool in_file;
  dm_op op;
  dm_distributed memory;  /* of op(X) */
  dm_dataset_input input; /* of X; without its own queue */
  dm_dataset dataset;
} dm_given;

/* What to open; messages use NAME. */
typedef struct dm_given_facts {
  const damier_matrix *stated;
  const dm_dataset *dataset; /* in a file: as rank 0 found it */
  const char *name;
  dm_op op;
  dm_dtype as;          /* type to which elements of a file are first rounded, or DM_DTYPE_NONE */
  dm_file_queue *ahead; /* reads files */
} dm_given_facts;

/* Collective. Close also frees what a failed open left; close AHEAD before. */
dm_status dm_given_open(dm_run *run, const dm_given_facts *facts, dm_given *given);
void dm_given_close(dm_given *given);

/* Collective: moves EXTENT of op(X) to the ranks' places TO, counted from its first row and
 * column. */
dm_status dm_given_bring(dm_given *given, const dm_run *run, dm_extent extent, const dm_end *to);

/* DM_E_IO: its file was written since it was inspected. */
dm_status dm_given_unchanged(const dm_given *given);

#endif
