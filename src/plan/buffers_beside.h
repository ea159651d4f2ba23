/* buffers_beside: the part of the list of buffers outside the rank's own. Private to
 * plan/buffers.c. */
#ifndef DM_PLAN_BUFFERS_BESIDE_H
#define DM_PLAN_BUFFERS_BESIDE_H

#include "plan/buffers.h"

/* Sizes of a rank used by several parts of the list. */
typedef struct dm_rank_extent {
  const dm_plan *plan;
  dm_coords at;
  int64_t panels;      /* of the layer */
  int64_t rows, cols;  /* of the block, in the first tile, */
  int64_t wide, added; /* columns with all accumulators, and as the layers add them */
  int64_t own_rows;    /* and the rows that this rank sums and stores */
  int64_t a_rows;      /* of the share of A */
  int64_t b_rows;      /* rows of this rank's piece of the widest panel of B, */
  int64_t width;       /* and that panel's width */
  int64_t work, sum;   /* bytes of an element */
} dm_rank_extent;

void dm_buffers_beside(const dm_rank_extent *e, dm_buffers *list);

#endif
