/* distributed: a matrix in memory as the caller describes it, and its elements on this rank. */
#ifndef DM_LIB_DISTRIBUTED_H
#define DM_LIB_DISTRIBUTED_H

#include "comm/comm.h"
#include "lib/redistribute.h"
#include <damier.h>

typedef struct dm_distributed {
  dm_distribution of;
  dm_view local;       /* this rank's part */
  bool on_gpus;        /* parts of some ranks are in GPU memory */
  void *stream;        /* of this rank's, that writes or reads it before; NULL: none */
  dm_backend *backend; /* that reaches it there; else NULL */
} dm_distributed;

/* Collective.  DM_E_USAGE where STATED says what cannot be, or ranks differ; NAME is for people.
 * Close frees also what a failed open has left. */
dm_status dm_distributed_open(const dm_comm *comm, const damier_matrix *stated, const char *name,
                              dm_distributed *matrix);
void dm_distributed_close(dm_distributed *matrix);

/* This rank's part is where it is stated to be, BACKEND can reach it there, and nothing that its
 * stream has to do is left. */
dm_status dm_distributed_reach(dm_distributed *matrix, dm_backend *backend, const char *name);

/* EXTENT of MATRIX, to be closed alone; the memory is the same. */
dm_status dm_distributed_part(const dm_distributed *matrix, dm_extent extent, dm_distributed *part);

void dm_distributed_transpose(dm_distributed *matrix);

/* MATRIX as one end of a redistribution. */
dm_end dm_distributed_end(dm_distributed *matrix);

#endif
