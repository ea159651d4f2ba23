/* source: provides op(A) or op(B) of a product through a table of functions: from datasets
 * (dataset_source.h), generated (below), or from the caller's memory
 * (memory_source.h). Each of the two has a source of its own; both may have the same state. */
#ifndef DM_ENGINE_SOURCE_H
#define DM_ENGINE_SOURCE_H

#include "core/element.h"
#include "core/status.h"
#include "engine/rank_state.h"

/* The caller owns STATE and everything it refers to. Functions marked so may be NULL. A source that
 * can read_b and pass may stay in its file; one that cannot is loaded before the first product. */
typedef struct dm_source_ops {
  const char *name;
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
  /* An upper bound of the magnitudes in an i8 matrix loaded so far. */
  double (*largest)(const void *state, dm_matrix matrix);
  /* Replaces the keepalive of long reads. */
  void (*set_keepalive)(void *state, const dm_keepalive *keepalive); /* may be NULL */
} dm_source_ops;

typedef struct dm_source {
  const dm_source_ops *ops;
  void *state;
} dm_source;

/* Op(A) and op(B), generated directly in the shares. */

typedef struct dm_generated_source {
  dm_generator generators[2]; /* generators of op(A) and op(B) */
} dm_generated_source;

extern const dm_source_ops dm_source_generated; /* STATE: a dm_generated_source */

/* Random operands that suit PROBLEM, others for each seed: small whole numbers for i8, elements of
 * similar magnitudes for residues, else uniform in [-1, 1). */
dm_generated_source dm_generated_random(const dm_problem *problem, uint64_t seed);

#endif
