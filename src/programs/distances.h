/* distances: C of distances between lines of A and of B, made of tiles of a product.
 *
 * Lines are shifted by a common centre, multiplied in f64, and the squares of both lines are added.
 * Pairs that are so close that digits are lost are taken again from the differences of their own
 * elements: their distances are as exact as those of others, and that of equal lines is 0. */
#ifndef DM_PROGRAMS_DISTANCES_H
#define DM_PROGRAMS_DISTANCES_H

#include "core/distance.h"
#include "product/description.h"
#include "run/run.h"

typedef struct dm_distances {
  dm_run *run;
  dm_line_distance what;
  dm_dtype type;             /* of C, whose values tiles get */
  dm_lines lines[2];         /* of A and B, between which distances are */
  bool one;                  /* B is A */
  int64_t k;                 /* elements of a line; 0: all distances are that of equal lines */
  int64_t room;              /* bytes for elements of lines */
  double *centre;            /* of the lines, */
  dm_centering centering[2]; /* and how they are shifted */
  double *squares[2];        /* of all shifted lines */
  int64_t again;             /* pairs of this rank that were taken again */
} dm_distances;

/* Collective: finds the centre and the squares of the lines of M's A and B, which are in files or
 * in host memory that all ranks see. From now on M is a product in f64 of lines that are shifted
 * while they are read, as long as D stays open and where it is. ROOM: as in D. */
dm_status dm_distances_open(dm_run *run, dm_multiply *m, int64_t room, dm_distances *d);
void dm_distances_close(dm_distances *d);

/* PART, rows of a tile of products in host memory, becomes distances. A and B are the tile's
 * factors; PART starts with line FIRST of this A, and at (ROW, COL) of C. */
dm_status dm_distances_finish(dm_distances *d, const dm_dataset *a, const dm_dataset *b,
                              dm_view part, int64_t first, int64_t row, int64_t col);

#endif
