/* distributed: a matrix in memory as described by the caller, and its elements on this rank. */
#ifndef DM_LAYOUT_DISTRIBUTED_H
#define DM_LAYOUT_DISTRIBUTED_H

#include "comm/comm.h"
#include "engine/dataset_input.h"
#include "engine/setup.h"
#include "layout/redistribute.h"

typedef enum dm_division {
  DM_BY_ROWS = 1,  /* consecutive rows in rank order; ranks may have none */
  DM_ON_ONE,       /* the whole matrix on one rank */
  DM_BLOCK_CYCLIC, /* ScaLAPACK's distribution */
  DM_REPLICATED,   /* the whole matrix on every rank, of which each contributes some rows */
} dm_division;

/* A matrix in memory as one rank describes it: the whole, alike on all ranks, and the rank's own
 * part. */
typedef struct dm_memory_matrix {
  dm_division division;
  dm_dtype dtype;
  int64_t rows, cols;             /* of the whole matrix */
  int rank;                       /* ON_ONE */
  int grid_rows, grid_cols;       /* BLOCK_CYCLIC: the process grid, its ranks numbered down the */
  bool column_major;              /* columns or along the rows, */
  int64_t row_block, col_block;   /* blocks, */
  int first_row, first_col;       /* and the process that has the first one */
  void *data;                     /* this rank's part; NULL if it has none */
  int64_t row_stride, col_stride; /* elements */
  int64_t own_rows;               /* BY_ROWS */
  bool on_gpu;
  void *stream; /* on a GPU: pending work on the part; NULL: none */
} dm_memory_matrix;

typedef struct dm_distributed {
  dm_distribution of;
  dm_view local;       /* this rank's part, */
  int64_t ahead;       /* bytes of the caller's memory before that */
  dm_view replica;     /* REPLICATED: this rank's copy; else it has no elements */
  bool on_gpus;        /* parts of some ranks are in GPU memory */
  void *stream;        /* this rank's stream with pending work on it; NULL: none */
  dm_backend *backend; /* backend for GPU memory; else NULL */
  bool pageable; /* reached by a backend of GPUs: LOCAL is in host memory that is not pinned */
} dm_distributed;

/* DM_E_USAGE: this rank states an impossible division, type or shape. */
dm_status dm_memory_matrix_check(const dm_memory_matrix *stated);

/* Whether ONE and OTHER differ at most in where their elements are (but not in how their addresses
 * are aligned) and in their streams. */
bool dm_memory_matrix_is_like(const dm_memory_matrix *one, const dm_memory_matrix *other);

/* Moves MATRIX to the memory and stream of STATED, which is like the one that it was opened for. */
void dm_distributed_move(const dm_memory_matrix *stated, dm_distributed *matrix);

/* How some rank's part of a matrix lies; the same on all ranks. */
typedef struct dm_part_layout {
  bool rows_apart, cols_apart; /* neighbours in rows, or columns, are not so in memory */
  bool on_host;
} dm_part_layout;
dm_status dm_part_layout_of(const dm_comm *comm, dm_view part, dm_part_layout *lying);

/* Collective. DM_E_USAGE: STATED is invalid, or ranks differ; messages use NAME. Close also frees
 * what a failed open left. */
dm_status dm_distributed_open(const dm_comm *comm, const dm_memory_matrix *stated, const char *name,
                              dm_distributed *matrix);
void dm_distributed_close(dm_distributed *matrix);

/* Checks that this rank's part is in the stated memory and accessible to BACKEND, and waits for its
 * stream. */
dm_status dm_distributed_reach(dm_distributed *matrix, dm_backend *backend, const char *name);

/* The same with *BACKEND, which it opens if this rank's part is in GPU memory (else NULL), of the
 * kind that ENGINE states. The caller closes it, also after an error. */
dm_status dm_distributed_open_backend(const dm_run *run, const dm_engine_options *engine,
                                      dm_distributed *matrix, const char *name,
                                      dm_backend **backend);

/* Calls TAKE with all of this rank's elements, in bounded pieces in host memory; (ROW, COL) is the
 * place of the first one in the whole matrix. */
dm_status dm_distributed_each(const dm_distributed *matrix, int rank, dm_part_taker *take,
                              void *context);

/* Collective: C, which PROBLEM's product gave its elements, has no correlation that rounding made
 * too large (dm_correlate), if it has correlations. */
dm_status dm_distributed_correlate(const dm_run *run, const dm_distributed *c,
                                   const dm_problem *problem);

/* EXTENT of MATRIX, in the same memory; close it separately. */
dm_status dm_distributed_part(const dm_distributed *matrix, dm_extent extent, dm_distributed *part);

void dm_distributed_transpose(dm_distributed *matrix);

/* MATRIX as one end of a redistribution. */
dm_end dm_distributed_end(dm_distributed *matrix);

#endif
