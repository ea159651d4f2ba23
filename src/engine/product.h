/* product: one multiplication over the ranks of a run, from a source to a sink: what multiply,
 * bench multiply and a library run alike.
 *
 * It neither prints, nor exits, nor takes signals.  The run, its communicator and the setup are the
 * caller's and stay open as long as the product. */
#ifndef DM_ENGINE_PRODUCT_H
#define DM_ENGINE_PRODUCT_H

#include "check/freivalds.h"
#include "engine/setup.h"
#include "engine/share_sums.h"
#include "engine/sink.h"
#include "engine/source.h"
#include "engine/streamed_check.h"

typedef struct dm_product {
  dm_run *run;
  dm_setup *setup;
  dm_source source;
  dm_sink sink;
  dm_freivalds *check; /* sums up A and B; NULL: nothing is verified.  C is the sink's to add */
  bool guards;         /* shares are compared, in the end, with what was read into them */
  /* Now and then while products run, in panels of all tiles of this run; NULL: nobody asks. */
  dm_status (*progress)(void *context, int64_t done, int64_t total);
  void *context;

  /* ---- the product's own ---- */
  dm_rank_state local;
  dm_streamed_check streamed;
  dm_keepalive moves; /* of long reads while products run: there no rank stops alone */
  dm_share_sums sums;
  int64_t arrived;    /* pieces that this run has loaded */
  int64_t changed[2]; /* pieces of A and B, on all ranks, that changed in memory meanwhile */
  bool is_open;
  bool loaded;  /* the shares are there and stay: what runs next does not load them again */
  bool checked; /* A and B were looked at: their sums fit, and CHECK has all of them */
} dm_product;

/* Collective.  Allocates what the plan foresees and opens source and sink; the fields above the
 * product's own are set.  Closed by dm_product_close also where it fails. */
dm_status dm_product_open(dm_product *product);

/* Collective: loads the shares ahead of the first run.  For plans whose A and B stay in memory. */
dm_status dm_product_load(dm_product *product);

/* Collective: what follows comes from SOURCE, of the same operands. */
dm_status dm_product_set_source(dm_product *product, dm_source source);

/* Collective: multiplies, from loading what is not there to C in its sink; may be called again, for
 * the same plan.  Tiles that are done are left out.  DM_E_STOPPED, agreed, where the run is asked
 * to stop; what was stored until then is whole. */
dm_status dm_product_run(dm_product *product);

/* Collective, but after an error that the ranks have not agreed on. */
void dm_product_close(dm_product *product);

#endif
