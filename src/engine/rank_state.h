/* rank_state: one rank's part of a multiplication: its shares, its rings, its block of C, and its
 * peers. See docs/design.md, "The way of the data". */
#ifndef DM_ENGINE_RANK_STATE_H
#define DM_ENGINE_RANK_STATE_H

#include <stdint.h>

#include "backend/backend.h"
#include "check/freivalds.h"
#include "io/read.h"
#include "plan/buffers.h"
#include "plan/steps.h"
#include "plan/tiles.h"
#include "run/run.h"
#include "transport/transport.h"

/* ---- memory, according to the plan's list of buffers (plan/buffers.h) ----
 *
 * The engine, sources and sinks allocate memory for matrices only here; memory of other modules is
 * counted here. Nothing beyond the list can be allocated. */

typedef struct dm_rank_memory {
  dm_backend *backend;
  dm_cached_memory *cached; /* for host memory; NULL: a GPU's backend allocates it */
  dm_buffers list;
  void *at[DM_BUFFERS];        /* NULL: not allocated */
  int64_t counted[DM_BUFFERS]; /* bytes that other modules use */
} dm_rank_memory;

/* Returns buffer KIND, allocated on the first call; it lives until close. DM_E_BUG: the list has
 * none. */
dm_status dm_rank_memory_take(dm_rank_memory *memory, dm_buffer_kind kind, void **at);

/* The same if BYTES of it are needed; DM_E_BUG: the list has less. */
dm_status dm_rank_memory_take_bytes(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes,
                                    void **at);

/* Counts BYTES that another module uses as KIND, besides the rank's own memory, until close.
 * DM_E_BUG: the list has less than the total counted. */
dm_status dm_rank_memory_count(dm_rank_memory *memory, dm_buffer_kind kind, int64_t bytes);

/* The start of slot SLOT of KIND, which must be allocated. */
static inline char *dm_rank_memory_slot(const dm_rank_memory *memory, dm_buffer_kind kind,
                                        int64_t slot) {
  return (char *)memory->at[kind] + slot * memory->list.of[kind].slot;
}

/* ---- state ---- */

enum {
  DM_BLOCK_SHARE = 2
}; /* share number of the block of C; DM_A and DM_B are those of A and B */

/* Seconds that this rank spent, and bytes it moved. The first lines cover all of its time since
 * main, each moment once; wait: waiting for other ranks outside the other phases. Of multiply, gemm
 * had a product under way; of the rest, exposed_fetch had gathers under way, and exposed_upload
 * only copies. */
enum { DM_PHASES = 11, DM_PHASE_SECONDS = 16 };
typedef struct dm_phases {
  union {
    struct {
      double start, plan, open, commit, wait;
      double read, check, multiply, reduce, write, verify;
      double gemm, exposed_fetch, exposed_upload;
      double fetch, upload; /* total, hidden or not */
    };
    double seconds[DM_PHASE_SECONDS]; /* the same values; the first DM_PHASES add up */
  };
  int64_t uploaded;
  int64_t received;   /* of all ranks, only in dm_phases_worst */
  int64_t from_files; /* bytes of A, B and the old C read */
  int64_t natively;   /* see dm_backend_native_lines; of all ranks, only in dm_phases_worst */
  int64_t resident;   /* peak host memory of the process */
} dm_phases;

/* One factor: its buffers are the rank's, according to its route. Rows are packed in host memory,
 * where pieces are sent without copies, and padded on a device (dm_device_stride). */
typedef struct dm_factor {
  dm_route route;
  const dm_comm *peers; /* ranks that share a panel: the grid row (A) or column (B) */
  /* While posting a gather: the places of the peers' pieces in the slot, their sizes, and their
   * places in the shares. */
  int64_t *offset, *bytes, *source;
  uint64_t fillings; /* fillings of the share before the current loop: see dm_gather */
} dm_factor;

/* A sum over layers in progress: pieces are gathered, then added, then the peers read the rest. */
typedef struct dm_summing {
  enum { DM_SUM_RESTS, DM_SUM_PULLS, DM_SUM_DRAINS } stage;
  uint64_t turn; /* sums started */
  int ticket;
  dm_view block;    /* through host memory: what is exchanged of this rank's block, ... */
  dm_range covered; /* ... rows of C */
} dm_summing;

/* Exponents of the powers of two that scale all rows of op(A) and all columns of op(B).
 * (scaling.c) */
typedef struct dm_scaling {
  int32_t *rows, *cols; /* one block; NULL until known */
  void *on_device;      /* copies on the device, if operands are there; NULL: not needed yet */
  int64_t bytes;        /* of these */
  dm_exponents passed;  /* to products: all, in the operands' memory */
  double factor;        /* f: C's error is at most f u |A| |B|, element by element, u of the sums */
  bool unfit;           /* there are NaN, Inf, or magnitudes too different for a small f */
  int moduli;           /* unfit: the fewest moduli that make f small; 0: none do */
} dm_scaling;
void dm_scaling_close(dm_scaling *scaling, dm_backend *backend); /* (rank_state.c) */

/* Products of runs of small entries (plan/partition.h). Each run is verified by itself, while it is
 * in the processor's cache, so that the vectors of all rows are nowhere. */
typedef struct dm_run_products {
  double alpha[2];
  bool verify;
  dm_check_seed seed; /* all runs draw the same vector */
  int draw;
  int64_t count;      /* runs so far, ... */
  dm_verdict verdict; /* ... on which this is the verdict */
} dm_run_products;

typedef struct dm_rank_state {
  dm_run *run;
  const dm_plan *plan;
  dm_coords coords;
  dm_backend *backend;
  dm_rank_memory memory;
  dm_transport *transport;
  dm_comm *grid_row, *grid_column, *layers; /* NULL on an idle rank */
  dm_comm *side;                            /* all ranks of this rank's layer; likewise NULL */
  dm_range panels;                          /* panels of this rank's layer */
  int64_t tile;                             /* tile of rows, cols, c, pieces and slots */
  dm_range rows, cols;                      /* of this rank's block */
  dm_factor a, b;
  /* op(A), op(B) if multiplied in the page cache: rows in order, in one or more files; else NULL.
   * Of a matrix that shares the other's pieces NULL, and the other is in one file. */
  const dm_read_band *mapped[2];
  int64_t bands[2];
  dm_view c;     /* sums of products: the block, in the backend's memory */
  dm_view c_sum; /* pk > 1: its rows c_share, summed over the layers */
  dm_summing summing;
  dm_tile_states *states; /* updated by the loop; NULL: not needed */
  dm_run_products *runs;  /* if tiles are runs of entries */
  dm_scaling scaling;     /* if the compute mode has moduli */
  dm_phases phases;
} dm_rank_state;

/* Processes a piece of op(A) or op(B), which starts at (ROW, COL) of the matrix, in PANEL. */
typedef dm_status dm_piece_taker(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                 int64_t row, int64_t col);

/* Collective. Allocates all buffers of PLAN for this rank; the caller keeps the backend. Panels use
 * TRANSPORT, which moves GPU memory if the plan has device links; NULL: MPI through host memory.
 * DM_E_BUG: strips have more panels than the shortest layer. */
dm_status dm_rank_open(dm_run *run, const dm_plan *plan, dm_backend *backend,
                       const dm_transport_ops *transport, dm_rank_state *local);
void dm_rank_close(dm_rank_state *local); /* collective */

/* From now on rows, cols, c, and the functions below, refer to TILE. */
void dm_rank_turn_to(dm_rank_state *local, int64_t tile);

/* Whether layers are summed between GPUs. */
bool dm_rank_reduces_on_device(const dm_rank_state *local);

/* The final sums of the tile that this rank stores, and their rows of C: its block or, with several
 * layers, the part that it sums. Empty on an idle rank. */
dm_view dm_rank_result(const dm_rank_state *local, dm_range *rows);

/* This rank's rows of the tile, counted from 0 to the number that it sums. */
dm_range dm_rank_sums(const dm_rank_state *local);

/* This rank's piece of PANEL (a panel of its layer), unless it is multiplied in the page cache; and
 * what it covers of op(A) or op(B). */
dm_view dm_rank_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel);

/* The rows of the piece from ROW on that follow each other in memory: all, unless it is multiplied
 * in the page cache of several files. */
dm_view dm_rank_piece_from(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                           int64_t row);

/* Of a matrix that is multiplied in the page cache: columns COLS of the first of ROWS and of those
 * that follow it in memory. */
dm_view dm_rank_mapped(const dm_rank_state *local, dm_matrix matrix, dm_range rows, dm_range cols);

/* Whether products read MATRIX, or the X that it is the transpose of, in the page cache. */
bool dm_rank_is_mapped(const dm_rank_state *local, dm_matrix matrix);

dm_range dm_rank_piece_rows(const dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_range dm_rank_piece_cols(const dm_rank_state *local, dm_matrix matrix, int64_t panel);

/* The offset in bytes of PEER's piece of PANEL in the memory that PEER, a member of the factor's
 * group, exposes: its share, or its slots, of which SLOT has the panel. */
int64_t dm_rank_source(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                       int peer);

/* A whole panel in SLOT of RING, or in its own slot if every panel has one. */
dm_view dm_rank_slot(const dm_rank_state *local, dm_matrix matrix, dm_holder ring, int64_t panel,
                     int slot);

/* The destination of an upload: the slot, or the place of this rank's own piece in it. */
dm_view dm_rank_uploaded(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot);

/* The panel as products read it: in SLOT of a ring, or in the share if nothing had to move; its
 * rows from ROW on, as in dm_rank_piece_from. */
dm_view dm_rank_operand_from(const dm_rank_state *local, dm_matrix matrix, int64_t panel, int slot,
                             int64_t row);

#endif
