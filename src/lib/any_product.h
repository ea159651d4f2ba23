/* any_product: a product whose matrices are in files or in memory, each independently.
 *
 * A and B are moved to the plan's places; then the tiles of C are computed in sequence, and each is
 * delivered before the next one starts. */
#ifndef DM_LIB_ANY_PRODUCT_H
#define DM_LIB_ANY_PRODUCT_H

#include "check/verdict.h"
#include "engine/memory_sink.h"
#include "engine/memory_source.h"
#include "engine/product.h"
#include "lib/given.h"
#include "lib/library.h"
#include "lib/result.h"

enum { DM_OLD = 2 }; /* an operand, besides DM_A and DM_B */

typedef struct dm_any_product {
  dm_run *run;
  dm_posed *posed;
  dm_multiply job; /* as for files: options, datasets and the output */
  dm_problem problem;
  dm_given given[3];
  dm_result result;
  dm_file_queue *ahead; /* reads */
  dm_setup setup;
  dm_product product;
  dm_memory_source source;
  dm_memory_sink sink;
  dm_freivalds *check; /* verification of the sums */
  dm_verdict verdict;
  char *pieces[2];      /* pieces that go to a GPU, panel after panel; else NULL */
  char *sums;           /* this rank's sums of a tile, copied from a GPU; else NULL */
  char *old, *finished; /* elements of a tile that are finished here; NULL: none */
} dm_any_product;

/* ---- this rank's memory (any_memory.c) ---- */

/* Allocates all of the above in host memory, for tiles as large as the first; the rank's memory
 * owns it. */
dm_status dm_any_take_memory(dm_any_product *product);

/* Bytes of it per element of C that is finished before it moves. */
int dm_any_finish_bytes(const dm_any_product *product);

/* Whether shares are copied directly from the caller's GPU memory: if one rank has the whole matrix
 * there, with rows as the product needs them. */
bool dm_any_is_direct(const dm_any_product *product, dm_matrix matrix);

/* Functions of dm_memory_source and dm_memory_sink; CONTEXT is the dm_any_product. Without a sink C
 * stays where it was summed. */
dm_view dm_any_piece(void *context, const dm_rank_state *local, dm_matrix matrix, int64_t panel);
dm_view dm_any_sums(void *context, const dm_rank_state *local);

/* Whether C is finished where it was summed, before it moves; else where it arrives. */
bool dm_any_finishes_here(const dm_any_product *product);

/* ---- moves (any_moves.c) ---- */

/* Collective: moves everything of MATRIX that is first needed by TILE, for it and later tiles. */
dm_status dm_any_bring(dm_any_product *product, dm_matrix matrix, int64_t tile);

/* Collective: finishes C of TILE, the current tile of all ranks, and moves it to its
 * destination. */
dm_status dm_any_deliver(dm_any_product *product, int64_t tile);

#endif
