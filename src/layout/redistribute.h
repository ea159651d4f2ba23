/* redistribute: moves a matrix from one distribution over the ranks to another, in rounds of
 * messages that bound the memory.
 *
 * What one rank sends another is the product of a set of rows and a set of columns, and is sent as
 * a dense matrix. */
#ifndef DM_LAYOUT_REDISTRIBUTE_H
#define DM_LAYOUT_REDISTRIBUTE_H

#include "backend/backend.h"
#include "comm/comm.h"
#include "layout/distribution.h"
#include "plan/partition.h"

/* One end: AT returns this rank's memory of the runs ROW and COL, which belong to it; host
 * memory. */
typedef struct dm_end {
  const dm_distribution *of;
  dm_view (*at)(void *context, int64_t row, int64_t col);
  void *context;
  /* At one of the two ends ranks may use GPU memory instead: */
  bool on_gpus;        /* some ranks do; equal on all ranks */
  dm_backend *backend; /* if this rank does; else NULL */
  const dm_view *
      local; /* this rank's part, addressed by local places of rows and columns; AT is not called */
} dm_end;

/* Stores the received elements ARRIVED, in host memory, INTO their place; several threads call it.
 * TAKE may be NULL: they are copied. */
typedef struct dm_taker {
  dm_status (*take)(void *context, dm_view into, dm_view arrived);
  void *context;
} dm_taker;

typedef struct dm_move {
  dm_dtype dtype; /* type of the elements sent */
  const dm_end *from, *to;
  dm_taker taker;    /* stores elements at TO */
  bool reads;        /* the taker reads the old elements of INTO */
  int64_t per_round; /* approximate bytes that a rank sends per round; 0: a good number */
} dm_move;

/* Collective: moves all elements from FROM to TO. Errors are agreed, except those of MPI. */
dm_status dm_redistribute(const dm_comm *comm, const dm_move *move);

/* ---- keeps some rows of a matrix in GPU memory in pinned host memory ---- */

typedef struct dm_band dm_band;

/* For HEIGHT rows at once of the columns COLS of MATRIX, in memory of BACKEND's GPU. Close accepts
 * NULL. */
dm_status dm_band_open(dm_backend *backend, dm_view matrix, dm_range cols, int64_t height,
                       dm_band **band);
void dm_band_close(dm_band *band);

/* Moves the band to ROWS; copies them from GPU memory if READS, else leaves them undefined. */
dm_status dm_band_move(dm_band *band, dm_range rows, bool reads);

/* Copies the rows back. */
dm_status dm_band_write(dm_band *band);

/* The band's memory of a part of its rows, in coordinates of the matrix. */
dm_view dm_band_part(const dm_band *band, int64_t row, int64_t col, int64_t rows, int64_t cols);

#endif
