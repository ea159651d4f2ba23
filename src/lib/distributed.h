/* distributed: a matrix in memory as described by the caller, and its elements on this rank. */
#ifndef DM_LIB_DISTRIBUTED_H
#define DM_LIB_DISTRIBUTED_H

#include "comm/comm.h"
#include "lib/redistribute.h"
#include <damier.h>

typedef struct dm_distributed {
  dm_distribution of;
  dm_view local;       /* this rank's part */
  bool on_gpus;        /* parts of some ranks are in GPU memory */
  void *stream;        /* this rank's stream with pending work on it; NULL: none */
  dm_backend *backend; /* backend for GPU memory; else NULL */
} dm_distributed;

/* DM_E_USAGE: this rank states an impossible division, type, kind of memory or shape. */
dm_status dm_distributed_check(const damier_matrix *stated);

/* Collective. DM_E_USAGE: STATED is invalid, or ranks differ; messages use NAME. Close also frees
 * what a failed open left. */
dm_status dm_distributed_open(const dm_comm *comm, const damier_matrix *stated, const char *name,
                              dm_distributed *matrix);
void dm_distributed_close(dm_distributed *matrix);

/* Checks that this rank's part is in the stated memory and accessible to BACKEND, and waits for its
 * stream. */
dm_status dm_distributed_reach(dm_distributed *matrix, dm_backend *backend, const char *name);

/* EXTENT of MATRIX, in the same memory; close it separately. */
dm_status dm_distributed_part(const dm_distributed *matrix, dm_extent extent, dm_distributed *part);

void dm_distributed_transpose(dm_distributed *matrix);

/* MATRIX as one end of a redistribution. */
dm_end dm_distributed_end(dm_distributed *matrix);

#endif
