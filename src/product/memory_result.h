/* memory_result: matrices in the ranks' memory, on hosts or GPUs, as the caller divided them. The
 * tiles of C are delivered one after the other: each is finished (alpha, beta, one rounding) and
 * moved. */
#ifndef DM_PRODUCT_MEMORY_RESULT_H
#define DM_PRODUCT_MEMORY_RESULT_H

#include "check/freivalds.h"
#include "engine/memory_source.h"
#include "io/read.h"
#include "layout/distributed.h"
#include "run/run.h"

/* The caller sets what is not private; all of it must outlive the product. */
typedef struct dm_memory_result {
  const dm_run *run;
  dm_distributed *matrix;
  double alpha[2], beta[2];
  bool replaces;       /* the old C, if it is read, is C itself; else it is */
  dm_reader *old_file; /* in a file, */
  dm_distributed *old; /* or in memory */
  dm_freivalds *check; /* sums up C before it is finished; NULL: not verified */
  bool on_gpu;         /* this rank's GPU has all of C, and OLD: C is finished there */

  /* ---- private ---- */
  dm_memory_sink copies;            /* from a GPU to SUMS */
  char *sums, *old_tile, *finished; /* in host memory; NULL: not needed */
} dm_memory_result;

extern const dm_sink_ops dm_sink_result; /* STATE: a dm_memory_result */

/* Bytes per element of a tile that is finished where it was summed. */
int dm_memory_result_bytes(const dm_memory_result *result, const dm_problem *problem);

/* Adds this rank's sums of a single tile to the check; those of several are added when they are
 * delivered. */
dm_status dm_memory_result_check(const dm_memory_result *result, dm_rank_state *local);

/* Collective: delivers TILE, whose sums are complete on all ranks. */
dm_status dm_memory_result_deliver(dm_memory_result *result, dm_rank_state *local, int64_t tile);

/* Collective: moves all tiles of OLD, for a C in a file, to LOCAL's memory beside its sums, in the
 * order of the tiles; *memory is this rank's, NULL: it has none. */
dm_status dm_old_bring(const dm_run *run, dm_distributed *old, dm_rank_state *local, char **memory);

/* The old C of this rank's sums of LOCAL's tile there. */
dm_view dm_old_of_tile(const dm_rank_state *local, char *memory);

/* ---- A and B in the ranks' memory, on hosts or GPUs, as the caller divided them: moves them to
 * the plan's places before the first product ---- */

typedef struct dm_memory_operands {
  const dm_run *run;
  const dm_distributed *matrix[2]; /* op(A), op(B); NULL: not in memory */
  bool conjugate[2];
  bool on_gpu[2];          /* this rank's GPU has all of it, of the type that is multiplied */
  dm_memory_source source; /* for dm_source_memory */
} dm_memory_operands;

/* MATRIX, the backend's memory included, must outlive OPERANDS. */
void dm_memory_operands_open(const dm_run *run, const dm_distributed *const matrix[2],
                             const bool conjugate[2], const bool on_gpu[2],
                             dm_memory_operands *operands);

/* Collective, when LOCAL's buffers exist: moves all that its tiles need. What is ON_GPU is copied
 * from there while products run, if the plan has it on the GPU. */
dm_status dm_memory_operands_bring(dm_memory_operands *operands, dm_rank_state *local);

#endif
