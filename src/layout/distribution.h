/* distribution: which rank has which elements of a matrix, and where in its memory.
 *
 * Rows and columns are divided independently: each axis is cut into runs, and each run belongs to a
 * part of the axis; a pair of parts, of rows and of columns, belongs to one rank. Blocks of rows,
 * ScaLAPACK's block-cyclic matrices and the shares of a plan are of this kind. */
#ifndef DM_LAYOUT_DISTRIBUTION_H
#define DM_LAYOUT_DISTRIBUTION_H

#include "core/view.h"
#include "plan/plan.h"

/* A run from BEGIN to the start of the next run. */
typedef struct dm_axis_run {
  int64_t begin;
  int part;
  int64_t local; /* place of its first element within the part */
} dm_axis_run;

typedef struct dm_axis {
  int64_t total;
  int parts;
  int64_t count;
  dm_axis_run *runs; /* none is empty */
} dm_axis;

typedef struct dm_distribution {
  dm_axis rows, cols;
  int *ranks;             /* ranks of all pairs of parts; a rank has at most one pair */
  int row_step, col_step; /* in RANKS, from part to part */
} dm_distribution;

static inline int dm_distribution_rank(const dm_distribution *of, int row_part, int col_part) {
  return of->ranks[row_part * of->row_step + col_part * of->col_step];
}

/* Allocates the ranks of all pairs of ROWS and COLS, row-major. */
dm_status dm_distribution_ranks(dm_distribution *of);

/* TOTAL in blocks of BLOCK, dealt cyclically to PARTS parts from part FIRST. */
dm_status dm_axis_cyclic(int64_t total, int64_t block, int parts, int first, dm_axis *axis);

/* Consecutive parts of SIZES[0..PARTS), or of sizes that differ by at most 1. */
dm_status dm_axis_of_sizes(const int64_t *sizes, int parts, dm_axis *axis);
dm_status dm_axis_even(int64_t total, int parts, dm_axis *axis);

/* The part that TILE needs of op(A) or op(B), or is of C (DM_C). */
dm_extent dm_tile_extent(const dm_plan *plan, int matrix, int64_t tile);

/* The distribution of that extent in PLAN: the ranks that need it in their shares, or have its
 * sums; counted from its first row and column. The local place of a run of k is its panel. */
dm_status dm_distribution_of_tile(const dm_plan *plan, int matrix, int64_t tile,
                                  dm_distribution *of);

/* EXTENT of the matrix that OF distributes, in the same memory. */
dm_status dm_distribution_part(const dm_distribution *of, dm_extent extent, dm_distribution *part);

/* The parts of RANK; false: it has none. */
bool dm_distribution_parts(const dm_distribution *of, int rank, int *row_part, int *col_part);

/* The elements of RANK, both ranges empty if it has none; false: they are not contiguous, in the
 * matrix or in the rank's memory. */
bool dm_distribution_extent(const dm_distribution *of, int rank, dm_extent *extent);

/* Elements along AXIS that belong to PART. */
int64_t dm_axis_size(const dm_axis *axis, int part);

/* From the first of their local places to the last, for axes whose runs are contiguous in the
 * memory of PART. */
dm_range dm_axis_places(const dm_axis *axis, int part);

/* The element after run RUN. */
static inline int64_t dm_axis_end(const dm_axis *axis, int64_t run) {
  return run + 1 < axis->count ? axis->runs[run + 1].begin : axis->total;
}

/* A piece of an axis inside one run at either end of a move. */
typedef struct dm_segment {
  int64_t begin, size;
  int64_t from, to; /* runs */
} dm_segment;

typedef struct dm_segments {
  const dm_axis *from, *to;
  dm_segment *list;
  int64_t count;
} dm_segments;

/* The common pieces of two axes of the same total, which must outlive them, in ascending order.
 * Free also frees what a failed cut left. */
dm_status dm_axis_cut(const dm_axis *from, const dm_axis *to, dm_segments *segments);
void dm_segments_free(dm_segments *segments);

/* What part FROM of one axis gives part TO of the other; only what is in WINDOW, which counts the
 * elements of the whole overlap, or local places at an end. Start with the rest zero. */
typedef struct dm_overlap {
  const dm_segments *segments;
  int from, to;
  dm_range window;
  enum { DM_OVERLAP_ELEMENTS, DM_OVERLAP_FROM, DM_OVERLAP_TO } counts;
  int64_t segment, passed, at; /* the next ones */
} dm_overlap;

/* SIZE elements, contiguous at both ends: AT in the window's overlap, and local places in runs. */
typedef struct dm_overlap_piece {
  int64_t at, size;
  int64_t from, to;
  int64_t from_run, to_run;
} dm_overlap_piece;

/* What of PIECE, which is at PLACE, is in WINDOW; its size is not positive if nothing is. */
dm_overlap_piece dm_overlap_clip(dm_overlap_piece piece, int64_t place, dm_range window);

/* The next piece in ascending order; false: there is none. */
bool dm_overlap_next(dm_overlap *overlap, dm_overlap_piece *piece);

/* All elements from the next one. */
int64_t dm_overlap_size(dm_overlap overlap);

void dm_distribution_transpose(dm_distribution *of);

/* Allowed after a failed start, and if all is zero. */
void dm_distribution_free(dm_distribution *of);

#endif
