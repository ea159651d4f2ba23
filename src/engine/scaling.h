/* scaling: finds the powers of two that turn rows of A and columns of B into whole numbers for
 * products of residues (core/residues.h), from the whole of k: the same on every grid. */
#ifndef DM_ENGINE_SCALING_H
#define DM_ENGINE_SCALING_H

#include "engine/endpoint.h"

/* Collective: sets LOCAL's scaling from the loaded shares of all ranks or, if the plan streams,
 * from those of SOURCES that can pass A or B once or twice (NULL: from none). If unfit, the
 * exponents are unusable, and moduli states how many would suffice. */
dm_status dm_rank_scale(dm_rank_state *local, const dm_source *sources);

/* A rank's part of op(A) or op(B), in the memory of its backend: rows or columns are contiguous. */
typedef struct dm_scaled_part {
  dm_view view;
  int64_t row, col; /* of its first element in the matrix */
} dm_scaled_part;

/* The same for AB, the parts of op(A) and op(B). SCALING is initially zero, or that of an earlier
 * product, which is complete. */
dm_status dm_scale_parts(dm_backend *backend, const dm_comm *world, const dm_problem *problem,
                         const dm_scaled_part ab[2], dm_scaling *scaling);

/* Agreed: the error that says why MODE's residues cannot multiply what has this unfit SCALING. */
dm_status dm_scaling_refused(const dm_scaling *scaling, const dm_compute *mode);

#endif
