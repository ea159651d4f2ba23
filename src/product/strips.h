/* strips: how a matrix travels to ranks that multiply with it where their part of C is.
 *
 * Each rank needs some columns of the matrix, all of its rows. They come in strips of columns: a
 * strip is gathered from the ranks that have parts of it, one piece from each, and is a dense
 * matrix. All ranks know all strips. */
#ifndef DM_PRODUCT_STRIPS_H
#define DM_PRODUCT_STRIPS_H

#include "product/distribution.h"

typedef struct dm_strips {
  int ranks;
  int64_t depth;                  /* rows of the matrix */
  dm_range *rows, *cols, *wanted; /* of each rank: its part; the columns that it needs */
  bool own;   /* a rank's strips are of the columns that it needs or has; else all ranks */
  int groups; /* go through the same strips, in turn of these groups of columns */
  dm_range *group;
  int64_t count;     /* strips of each rank */
  int64_t slices;    /* of each group */
  int64_t *bounds;   /* slices + 1, counted from the first column of a group */
  int64_t most_cols; /* of a strip that travels */
} dm_strips;

/* The strips in which OF travels to the ranks of C, of which each needs its columns: a few, the
 * first one narrow, of at most MOST_BYTES (but at least 128 columns of SIZE bytes per element).
 * Not *fits: parts are not contiguous, or one rank would give different pieces to others at
 * once. Close also frees what a failed open left. */
dm_status dm_strips_open(const dm_distribution *of, const dm_distribution *c, int ranks,
                         int64_t size, int64_t most_bytes, dm_strips *strips, bool *fits);
void dm_strips_close(dm_strips *strips);

/* One strip for all columns of a group, of a matrix that every rank has. */
void dm_strips_unite(dm_strips *strips);

/* The columns of STRIP of RANK, as a taker and as a giver; may be empty. */
dm_range dm_strips_cols(const dm_strips *strips, int64_t strip, int rank);

/* Whether RANK has a piece of it: its own rows of these columns. */
bool dm_strips_gives(const dm_strips *strips, int64_t strip, int rank);
bool dm_strips_takes(const dm_strips *strips, int64_t strip, int rank);

/* Whether TAKER receives the piece of GIVER. */
bool dm_strips_moves(const dm_strips *strips, int64_t strip, int giver, int taker);

/* Whether each rank's rows of C are its rows of A, all columns of them. */
bool dm_strips_has_rows(const dm_distribution *a, const dm_distribution *c, int ranks);

#endif
