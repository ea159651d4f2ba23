/* product: one multiplication over the ranks of a run, from a source to a sink; used by multiply,
 * bench multiply and the library.
 *
 * It does not print, exit, or handle signals. The caller owns the run, its communicator and the
 * setup, which must outlive the product. */
#ifndef DM_ENGINE_PRODUCT_H
#define DM_ENGINE_PRODUCT_H

#include "check/freivalds.h"
#include "engine/endpoint.h"
#include "engine/setup.h"
#include "engine/share_sums.h"
#include "engine/streamed_check.h"

typedef struct dm_product {
  dm_run *run;
  dm_setup *setup;
  dm_source source[2]; /* of A and of B */
  dm_sink sink;
  dm_freivalds *check; /* sums A and B; NULL: no verification.  The sink adds C */
  bool guards;         /* compare shares, in the end, with what was read into them */
  /* Called repeatedly while products run, in panels of all tiles of this run; or NULL. */
  dm_status (*progress)(void *context, int64_t done, int64_t total);
  void *context;

  /* ---- private ---- */
  dm_rank_state local;
  dm_streamed_check streamed;
  dm_comm *halts;     /* tiles are delivered: see dm_step_calls; else NULL */
  dm_keepalive moves; /* for long reads while products run: then no rank stops alone */
  dm_share_sums sums;
  int64_t arrived;    /* pieces that this run has loaded */
  int64_t changed[2]; /* pieces of A and B, on all ranks, that changed in memory */
  bool is_open;
  bool loaded;  /* the shares stay in memory: the next run does not load them again */
  bool scanned; /* A and B were: their sums fit, and CHECK has all of them */
} dm_product;

/* Collective. Allocates the plan's buffers and opens source and sink; all fields before the private
 * ones must be set. Close it with dm_product_close, also after an error. */
dm_status dm_product_open(dm_product *product);

/* Collective: loads the shares ahead of the first run.  For plans whose A and B stay in memory. */
dm_status dm_product_load(dm_product *product);

/* Collective: continues with SOURCE, which has the same two operands. */
dm_status dm_product_set_source(dm_product *product, dm_source source);

/* Collective: multiplies, from loading missing pieces to C in its sink; may be called again for the
 * same plan. Skips complete tiles. DM_E_STOPPED, agreed: the run was asked to stop; everything
 * stored so far is valid. With several tiles, the sink has delivered each; with one the caller
 * calls the sink's deliver. */
dm_status dm_product_run(dm_product *product);

/* Collective, except after an error that the ranks have not agreed on. */
void dm_product_close(dm_product *product);

#endif
