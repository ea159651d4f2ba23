/* any_product: a product whose matrices lie in files or in memory, as each likes.
 *
 * A and B are brought to where the plan wants them; then the tiles of C are multiplied one after
 * the other, and each goes to its place before the next one begins. */
#ifndef DM_LIB_ANY_PRODUCT_H
#define DM_LIB_ANY_PRODUCT_H

#include "check/verdict.h"
#include "engine/memory_sink.h"
#include "engine/memory_source.h"
#include "engine/product.h"
#include "lib/given.h"
#include "lib/library.h"
#include "lib/result.h"

enum { DM_OLD = 2 }; /* an operand, beside DM_A and DM_B */

typedef struct dm_any_product {
  dm_run *run;
  dm_posed *posed;
  dm_multiply job; /* as of files: options, datasets and the output */
  dm_problem problem;
  dm_given given[3];
  dm_result result;
  dm_file_queue *ahead; /* reads */
  dm_setup setup;
  dm_product product;
  dm_memory_source source;
  dm_memory_sink sink;
  dm_freivalds *check; /* of the sums */
  dm_verdict verdict;
  char *pieces[2];      /* of what goes to a GPU, panel after panel; else NULL */
  char *sums;           /* this rank's of a tile, copied from a GPU; else NULL */
  char *old, *finished; /* elements of a tile that are finished here; NULL: none */
} dm_any_product;

/* ---- this rank's memory (any_memory.c) ---- */

/* Everything above for tiles as large as the first one, in host memory; it is the rank's. */
dm_status dm_any_take_memory(dm_any_product *product);

/* Of it, bytes for an element of C that is finished before it moves. */
int dm_any_finish_bytes(const dm_any_product *product);

/* Whether shares are copied from the caller's GPU memory: where one rank has all of the matrix, and
 * its rows lie there as the product wants them. */
bool dm_any_is_direct(const dm_any_product *product, dm_matrix matrix);

/* As dm_memory_source and dm_memory_sink have them; CONTEXT is the dm_any_product.  Without a sink
 * C is where it was summed. */
dm_view dm_any_piece(void *context, const dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_view dm_any_sums(void *context, const dm_rank_state *local);

/* Whether C is finished where it was summed, before it moves; else where it arrives. */
bool dm_any_finishes_here(const dm_any_product *product);

/* ---- moves (any_moves.c) ---- */

/* Collective: all that TILE and those after it need of MATRIX, where TILE is the first to need it.
 */
dm_status dm_any_bring(dm_any_product *product, dm_matrix matrix, int64_t tile);

/* Collective: C of TILE, which all ranks are turned to, is finished and goes to its place. */
dm_status dm_any_deliver(dm_any_product *product, int64_t tile);

#endif
