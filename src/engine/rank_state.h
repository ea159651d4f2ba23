/* rank_state: one rank's part of a multiplication: its shares, its rings, its block of C, and who
 * its peers are.  See docs/design.md, "The way of the data". */
#ifndef DM_ENGINE_RANK_STATE_H
#define DM_ENGINE_RANK_STATE_H

#include "engine/rank_memory.h"
#include "engine/tile_states.h"
#include "plan/steps.h"
#include "run/phase_times.h"
#include "run/run.h"
#include "transport/transport.h"

enum { DM_BLOCK_SHARE = 2 }; /* what peers know the block of C by; DM_A and DM_B stand for shares */

/* One factor: its memory is in the rank's, by its route.  Rows are packed in host memory, where
 * pieces travel as they lie, and padded on a device (dm_device_stride). */
typedef struct dm_factor {
  dm_route route;
  const dm_comm *peers; /* ranks that share a panel: the grid row (A) or column (B) */
  /* Of the peers' pieces, while a gather is posted: where in the slot, where in their shares. */
  int64_t *offset, *bytes, *source;
  uint64_t fillings; /* of the share, before those of the present loop: see dm_gather */
} dm_factor;

/* A sum over layers that goes on: pieces are pulled, then added, then the peers read the rest. */
typedef struct dm_summing {
  enum { DM_SUM_RESTS, DM_SUM_PULLS, DM_SUM_DRAINS } stage;
  uint64_t turn; /* sums begun */
  int ticket;
} dm_summing;

/* By which powers of two all rows of op(A) and all columns of op(B) are scaled. (scaling.c) */
typedef struct dm_scaling {
  int32_t *rows, *cols; /* NULL until they are known */
  void *on_device;      /* the same, where operands are there; NULL: not needed yet */
  dm_exponents given;   /* to products: all, in the memory of operands */
  double factor;        /* f: C is off by at most f u |A| |B|, element by element, u of the sums */
  bool unfit;           /* there are NaN, Inf, or numbers too unlike for a small f */
  int moduli;           /* unfit: the fewest that make f small; 0: none do */
} dm_scaling;

typedef struct dm_rank_state {
  dm_run *run;
  const dm_plan *plan;
  dm_coords coords;
  dm_backend *backend;
  dm_rank_memory memory;
  dm_transport *transport;
  dm_comm *grid_row, *grid_column, *layers; /* NULL on an idle rank */
  dm_comm *side;                            /* all ranks of this one's layer; NULL likewise */
  dm_range panels;                          /* of this rank's layer */
  int64_t tile;                             /* that rows, cols, c, pieces and slots are of */
  dm_range rows, cols;                      /* of this rank's block */
  dm_factor a, b;
  dm_view mapped[2]; /* op(A), op(B), where they are multiplied in the page cache; else no base */
  dm_view c;         /* sums of products: the block, where the backend multiplies */
  dm_view c_sum;     /* pk > 1: rows c_share of it, summed over the layers */
  dm_summing summing;
  struct dm_reduction *reduction; /* under way, or NULL */
  dm_tile_states *states;         /* that the loop keeps; NULL: nobody asks */
  dm_scaling scaling;             /* where the row of compute modes has moduli */
  dm_phases phases;
} dm_rank_state;

/* Takes a piece of op(A) or op(B), which begins at (ROW, COL) of the matrix, in PANEL. */
typedef dm_status dm_piece_taker(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                 int64_t row, int64_t col);

/* Collective.  Allocates everything that PLAN foresees for this rank; the backend stays the
 * caller's.  Panels travel by TRANSPORT, which moves GPU memory where the plan has device links;
 * NULL: by MPI through host memory. */
dm_status dm_rank_open(dm_run *run, const dm_plan *plan, dm_backend *backend,
                       const dm_transport_ops *transport, dm_rank_state *local);
void dm_rank_close(dm_rank_state *local); /* collective */

/* From now on rows, cols, c, and what follows here, are those of TILE. */
void dm_rank_turn_to(dm_rank_state *local, int64_t tile);

/* The sums that this rank stores of the tile, where they are in the end, and which rows of C they
 * are: of its block, or, of several layers, of the part that it sums.  Empty on an idle rank. */
dm_view dm_rank_result(const dm_rank_state *local, dm_range *rows);

/* This rank's rows of the tile, counted within it: 0 up to those that it sums. */
dm_range dm_rank_sums(const dm_rank_state *local);

/* This rank's piece of PANEL (a panel of its layer), and what it covers of op(A) or op(B). */
dm_view dm_rank_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_range dm_rank_piece_rows(const dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_range dm_rank_piece_cols(const dm_rank_state *local, dm_matrix matrix, int64_t panel);

/* Where the piece of PANEL that belongs to PEER, a member of the factor's group, stands in what
 * that peer shows to others, in bytes: its share, or its slots, of which SLOT has the panel. */
int64_t dm_rank_source(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                       int peer);

/* A whole panel in SLOT of RING; where every panel has a slot, in its own. */
dm_view dm_rank_slot(const dm_rank_state *local, dm_matrix matrix, dm_holder ring, int64_t panel,
                     int slot);

/* What an upload fills: the slot, or where this rank's own piece belongs in it. */
dm_view dm_rank_uploaded(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot);

/* The panel as a product reads it: in SLOT of a ring, or in the share where nothing had to move. */
dm_view dm_rank_operand(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot);

#endif
