/* source: where op(A) and op(B) of a product come from, behind one table of functions: datasets
 * (dataset_source.h), generated matrices (generated_source.h), memory of the caller
 * (memory_source.h). */
#ifndef DM_ENGINE_SOURCE_H
#define DM_ENGINE_SOURCE_H

#include "core/keepalive.h"
#include "engine/execute.h"
#include "engine/rank_state.h"

/* STATE is the source's own; it stays the caller's, as does what it refers to.  NULL marks what a
 * source need not have. */
typedef struct dm_source_ops {
  const char *name;
  /* Once, when the rank's buffers are there; CLOSE also after an OPEN that failed. */
  dm_status (*open)(void *state, dm_rank_state *local); /* may be NULL */
  void (*close)(void *state);                           /* may be NULL */
  /* As dm_step_calls has them.  LOADED NULL: a piece is there when LOAD returns. */
  dm_status (*load)(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel);
  dm_status (*loaded)(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                      bool *done);
  /* Elements of op(B) from (row, col) on, as many as VIEW (host memory) has; NULL where shares
   * never stay in files. */
  dm_status (*read_b)(void *state, int64_t row, int64_t col, dm_view view);
  /* TAKE(CONTEXT, ...) for all of op(A) or op(B), once, whatever stays in memory: by all ranks,
   * each for its part, in pieces in host memory that count as of panel 0.  HAS_LINES: whether each
   * piece has whole rows of op(A), or columns of op(B).  NULL where shares never stay in files. */
  dm_status (*pass)(void *state, dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                    void *context);
  bool (*has_lines)(const void *state, const dm_rank_state *local, dm_matrix matrix);
  /* Magnitude that no element of an i8 matrix loaded so far exceeds. */
  double (*largest)(const void *state, dm_matrix matrix);
  /* What long reads call from now on, in place of what they called before. */
  void (*set_keepalive)(void *state, const dm_keepalive *keepalive); /* may be NULL */
} dm_source_ops;

typedef struct dm_source {
  const dm_source_ops *ops;
  void *state;
} dm_source;

#endif
