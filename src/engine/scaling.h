/* scaling: the powers of two by which rows of A and columns of B become whole numbers, where a
 * product is made of residues (core/residues.h), from the whole of k: the same on every grid. */
#ifndef DM_ENGINE_SCALING_H
#define DM_ENGINE_SCALING_H

#include "engine/source.h"

/* Collective: fills LOCAL's scaling from the shares of all ranks, which have to be there; where the
 * plan streams, from SOURCE, which passes A and B once or twice (else it may be NULL).  Where it
 * says unfit the exponents are of no use, and it says how many moduli would do. */
dm_status dm_rank_scale(dm_rank_state *local, const dm_source *source);

/* Collective: all exponents are 0, so that products take their time, whatever they give. */
dm_status dm_rank_scale_by_one(dm_rank_state *local);

/* Agreed: why the matrices of an unfit LOCAL are not multiplied by residues. */
dm_status dm_scaling_refused(const dm_rank_state *local);

#endif
