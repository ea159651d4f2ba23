/* endpoint: where a product's matrices come from and go to. The executor calls a table of functions
 * for each: a source provides op(A) or op(B), a sink receives C. */
#ifndef DM_ENGINE_ENDPOINT_H
#define DM_ENGINE_ENDPOINT_H

#include "core/element.h"
#include "core/status.h"
#include "core/view.h"
#include "engine/rank_state.h"

/* ---- sources: datasets (dataset_source.h), memory (memory_source.h), or generated ----
 *
 * A and B have a source each; both may have the same state. The caller owns STATE and everything it
 * refers to. Functions marked so may be NULL. A matrix whose source has read_b and pass may stay in
 * its file; others are loaded before the first product. */
typedef struct dm_source_ops {
  /* Once for each state, when the rank's buffers exist; CLOSE is called even if OPEN failed. */
  dm_status (*open)(void *state, dm_rank_state *local); /* may be NULL */
  void (*close)(void *state);                           /* may be NULL */
  /* Brings this rank's piece of PANEL of its layer into its place. With LOADED, loads run in the
   * background, and the executor polls until they are done. */
  dm_status (*load)(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel);
  dm_status (*loaded)(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                      bool *done); /* may be NULL */
  /* Reads op(B) from (row, col), as many elements as VIEW (host memory) has; NULL if shares never
   * stay in files. */
  dm_status (*read_b)(void *state, int64_t row, int64_t col, dm_view view);
  /* Calls TAKE(CONTEXT, ...) once for all of op(A) or op(B): each rank for its part, in pieces in
   * host memory that count as panel 0. HAS_LINES: each piece has whole rows of op(A), or columns of
   * op(B). NULL if shares never stay in files. */
  dm_status (*pass)(void *state, dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                    void *context);
  bool (*has_lines)(const void *state, const dm_rank_state *local, dm_matrix matrix);
  /* An upper bound of the magnitudes of integers loaded so far. */
  double (*largest)(const void *state, dm_matrix matrix);
  /* Replaces the keepalive of long reads. */
  void (*set_keepalive)(void *state, const dm_keepalive *keepalive); /* may be NULL */
} dm_source_ops;

typedef struct dm_source {
  const dm_source_ops *ops;
  void *state;
} dm_source;

/* ---- op(A) and op(B), generated directly in the shares ---- */

typedef struct dm_generated_source {
  dm_generator generators[2]; /* generators of op(A) and op(B) */
} dm_generated_source;

extern const dm_source_ops dm_source_generated; /* STATE: a dm_generated_source */

/* Random operands that suit PROBLEM, others for each seed: small whole numbers for i8, elements of
 * similar magnitudes for residues, else uniform in [-1, 1). */
dm_generated_source dm_generated_random(const dm_problem *problem, uint64_t seed);

/* ---- sinks: a file (product/file_sink.h), or the caller's memory (product/memory_result.h) ----
 *
 * Without a sink C stays in the ranks' blocks, in its accumulator's type. The caller owns STATE. */
typedef struct dm_sink_ops {
  /* Once, when the rank's buffers exist; CLOSE is called even if OPEN failed. */
  dm_status (*open)(void *state, dm_rank_state *local); /* may be NULL */
  void (*close)(void *state, dm_rank_state *local);     /* may be NULL */
  /* Collective, once, before the first store. */
  dm_status (*ready)(void *state); /* may be NULL */
  /* ROWS of this rank's sums (dm_rank_sums) of its current tile are complete; called again until
   * done. DELIVER: collective, tile after tile, also on idle ranks: all ranks have stored TILE. */
  dm_status (*store)(void *state, dm_rank_state *local, dm_range rows,
                     bool *done);                                        /* may be NULL */
  dm_status (*deliver)(void *state, dm_rank_state *local, int64_t tile); /* may be NULL */
  /* After the last store of a run: returns when C is complete and safe. */
  dm_status (*settle)(void *state); /* may be NULL */
} dm_sink_ops;

typedef struct dm_sink {
  const dm_sink_ops *ops; /* NULL: no sink */
  void *state;
} dm_sink;

#endif
