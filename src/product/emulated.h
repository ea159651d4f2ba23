/* emulated: products in place by compute modes that no library has, of residues or split operands.
 * C is computed in tiles of at most 8192 x 8192: the accumulators of a tile and the parts of its
 * operands are in a workspace, of at most 5 GiB for f64:int8:15 and 2 GiB for f32:f16. */
#ifndef DM_PRODUCT_EMULATED_H
#define DM_PRODUCT_EMULATED_H

#include "engine/scaling.h"

/* What later products reuse; initially zero. */
typedef struct dm_emulated {
  dm_scaling scaling;
  void *tile; /* accumulators, and with them sums, of a tile */
  int64_t bytes;
  int64_t m, n; /* of SCALING */
} dm_emulated;

/* Whether PROBLEM's mode is such a mode, of real numbers, and WHOLE has a layout that it takes:
 * rows, or else columns, of all three matrices are contiguous. */
bool dm_emulated_suits(const dm_problem *problem, const dm_whole_product *whole);

/* Scans A and B for BACKEND, which was opened with the mode. *FITS is false if residues do not suit
 * them. */
dm_status dm_emulated_scan(dm_emulated *kept, dm_backend *backend, const dm_comm *world,
                           const dm_problem *problem, const dm_whole_product *whole, bool *fits);

/* Multiplies what was scanned; synchronous. */
dm_status dm_emulated_multiply(dm_emulated *kept, dm_backend *backend, const dm_problem *problem,
                               const dm_whole_product *whole);
void dm_emulated_close(dm_emulated *kept, dm_backend *backend);

#endif
