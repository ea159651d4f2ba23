/* partition: which rank owns which part of A, B, C and k, and which part of a symmetric C is
 * computed. */
#ifndef DM_PLAN_PARTITION_H
#define DM_PLAN_PARTITION_H

#include "plan/plan.h"

/* Part INDEX of TOTAL cut into PARTS runs whose borders are multiples of STEP; sizes differ by at
 * most STEP (and the remainder at the end); some may be empty. */
dm_range dm_split(int64_t total, int64_t parts, int64_t index, int64_t step);

static inline int64_t dm_range_size(dm_range range) {
  return range.end - range.begin;
}

/* The indices that both have. */
static inline dm_range dm_range_common(dm_range a, dm_range b) {
  const int64_t begin = a.begin > b.begin ? a.begin : b.begin;
  const int64_t end = a.end < b.end ? a.end : b.end;
  return (dm_range){begin, begin > end ? begin : end};
}

/* Whether they have an index in common. */
static inline bool dm_range_meets(dm_range a, dm_range b) {
  return a.begin < b.end && b.begin < a.end;
}

dm_coords dm_plan_coords(const dm_plan *plan, int rank);
int dm_plan_rank(const dm_plan *plan, int i, int j, int l);
int dm_plan_used(const dm_plan *plan); /* pm*pn*pk */

/* Tiles are cut from the whole C, whatever the grid. They are computed in snake order, to the right
 * in one row of tiles and to the left in the next (or down and up: plan->down), so that from tile
 * to tile either the rows of A or the columns of B stay. The entries of a batch follow each other:
 * each is cut and ordered like a whole C, and tiles_m counts the rows of tiles of all. */
typedef struct dm_tile {
  int64_t r, c; /* row and column of the tile */
  dm_range rows, cols;
} dm_tile;

int64_t dm_plan_tiles(const dm_plan *plan);
int64_t dm_plan_line(const dm_plan *plan); /* tiles between two turns of the snake */

/* Tile T, the T-th in the order of computation. */
dm_tile dm_plan_tile(const dm_plan *plan, int64_t t);

/* The place in that order of the tile in row R and column C of tiles. */
int64_t dm_plan_tile_at(const dm_plan *plan, int64_t r, int64_t c);

/* Whether a batch has fewer tiles than entries: each tile is a run of whole entries, which one rank
 * multiplies entry by entry, all of k in one panel. */
bool dm_plan_has_runs(const dm_plan *plan);

/* Entries of tile T of such a plan; else 1. */
int64_t dm_plan_run_entries(const dm_plan *plan, int64_t t);

/* Whether PROBLEM, from files to a file, has so many and so small entries that a single rank
 * multiplies them on the CPU, and its tiles are runs; those of 16 bits are widened before. */
bool dm_runs_suit(const dm_problem *problem);

/* Entries of a batch, or runs of them; tiles of each; that which tile T belongs to; and the first
 * row of its op(B) among those of all entries. */
int64_t dm_plan_parts(const dm_plan *plan);
int64_t dm_plan_part_tiles(const dm_plan *plan);
int64_t dm_plan_part_of(const dm_plan *plan, int64_t t);
int64_t dm_plan_b_origin(const dm_plan *plan, int64_t t);

/* Ranges of tile T; tile 0 has the largest. */
dm_range dm_plan_rows(const dm_plan *plan, int64_t t, int i);           /* rows of C(i, .) */
dm_range dm_plan_cols(const dm_plan *plan, int64_t t, int j);           /* columns of C(., j) */
dm_range dm_plan_a_share(const dm_plan *plan, int64_t t, int i, int j); /* rows of op(A) */
dm_range dm_plan_c_share(const dm_plan *plan, int64_t t, int i, int l); /* rows that layer l sums */

/* Strip STRIP of the blocks C(i, .), of pk * plan->strips: first one strip of each layer's rows,
 * then the second ones, ...; of a symmetric C, from the last rows to the first. */
typedef struct dm_strip {
  int owner;     /* the layer that sums it */
  dm_range rows; /* counted within that layer's rows */
  int64_t from;  /* first row, counted within the block */
} dm_strip;
dm_strip dm_plan_strip(const dm_plan *plan, int i, int64_t strip);
int64_t dm_plan_strips(const dm_plan *plan); /* number in all layers together */

dm_range dm_plan_layer(const dm_plan *plan, int l);                  /* panels of layer l */
dm_range dm_plan_panel(const dm_plan *plan, int64_t p);              /* k of panel p */
dm_range dm_plan_layer_k(const dm_plan *plan, int l);                /* k of layer l */
dm_range dm_plan_b_share(const dm_plan *plan, int64_t panel, int i); /* rows of op(B) */
int64_t dm_plan_b_share_rows(const dm_plan *plan, int i, int l);     /* in all panels of layer l */

/* Rows of op(B), among those of all entries, that PANEL has in tile T, and part I of them. */
dm_range dm_plan_b_panel(const dm_plan *plan, int64_t t, int64_t panel);
dm_range dm_plan_b_piece(const dm_plan *plan, int64_t t, int64_t panel, int i);

/* Number of ramp-up panels at the start of each layer. */
int dm_plan_ramp_count(const int64_t ramp[DM_RAMP]);

/* The number of panels of KB, with ramp-up panels RAMP, that K in LAYERS layers needs. */
int64_t dm_panels_of(int64_t k, int layers, int64_t kb, const int64_t ramp[DM_RAMP]);

/* Width of the widest panel, and the rows of it in B that rank (i, ., .) owns. */
int64_t dm_plan_width(const dm_plan *plan);
int64_t dm_plan_b_share_most(const dm_plan *plan, int i);

/* ---- movement of matrices ---- */

/* Whether a matrix is gathered from peers, and whether its panels are copied to a GPU. */
bool dm_plan_fetches_a(const dm_plan *plan);
bool dm_plan_fetches_b(const dm_plan *plan);
bool dm_plan_uploads_a(const dm_plan *plan);
bool dm_plan_uploads_b(const dm_plan *plan);

/* ---- the part of a symmetric C that is computed ----
 *
 * Its grid, and its tiles, have as many rows as columns, so each block of C is a square on the
 * diagonal, or below or above it. Of a square, products compute the elements on and below the
 * diagonal, which are then mirrored within the block. Of two blocks that are each other's mirror
 * images, each rank computes a part, and stores it twice: as it is, and its image. Tiles above
 * the diagonal are never computed. */

/* Whether the block in row I and column J of the grid is such a square. */
bool dm_triangle_is_square(const dm_plan *plan, int64_t tile, int i, int j);

/* The part of C that this block computes, maybe empty: all of it, if C is not symmetric. Of a
 * square it is the whole block, whose elements above the diagonal follow from the others. */
dm_extent dm_triangle_part(const dm_plan *plan, int64_t tile, int i, int j);

/* Whether this part is stored twice; and whether any part is. */
bool dm_triangle_has_image(const dm_plan *plan, int64_t tile, int i, int j);
bool dm_triangle_has_images(const dm_plan *plan);

/* Whether sums must outlast their own storing: images are made of them, one half of C is cleared.
 */
bool dm_triangle_keeps_sums(const dm_plan *plan);

/* Calls TAKE with the rectangles of C that products compute in ROWS of the block, until it fails.
 * A square is halved again and again: half of its rows and columns below the diagonal is one large
 * product. The smallest squares are computed in full. */
typedef dm_status dm_triangle_taker(void *context, dm_extent rectangle);
dm_status dm_triangle_each(const dm_plan *plan, int64_t tile, int i, int j, dm_range rows,
                           dm_triangle_taker *take, void *context);

/* Where each rank needs the same part of X as op(A) and as op(B), X is read once: the MATRIX that
 * would be transposed while it is read is not. */
bool dm_triangle_reads_once(const dm_plan *plan, dm_matrix matrix);

/* Whether X is held once, too: the pieces of MATRIX are those of the other one, seen as transposed,
 * and no steps move them. Else they are copies of those, transposed, and maybe conjugated. */
bool dm_triangle_shares(const dm_plan *plan, dm_matrix matrix);

static inline dm_matrix dm_other_matrix(dm_matrix matrix) {
  return matrix == DM_A ? DM_B : DM_A;
}

/* Whether the compute mode adds the layers' accumulators, so that these are mirrored, not sums. */
bool dm_triangle_mirrors_accumulators(const dm_plan *plan);

/* Whether a symmetric C can be computed on a grid of PM x PN x PK, or of any size where one is 0.
 */
bool dm_triangle_takes_grid(const dm_problem *problem, int pm, int pn, int pk);

/* Whether TILE is above the diagonal: the mirror image of another one, stored with it. */
bool dm_triangle_is_image(const dm_plan *plan, int64_t tile);

/* The tile that is stored together with TILE, its image or what it is the image of; TILE itself if
 * there is none. */
int64_t dm_triangle_twin(const dm_plan *plan, int64_t tile);

/* The number of tiles that are no images. */
int64_t dm_triangle_tiles(const dm_plan *plan);

/* The largest fraction of the products of a block that a rank of PLAN computes, on average over the
 * tiles that are computed. */
double dm_triangle_fraction(const dm_plan *plan);

#endif
