/* broadcast: which matrices are sent to other ranks in a product of several ranks whose C stays
 * where it is, and where each strip of them is in the ranks' workspace.
 *
 * Each rank multiplies its rows of op(A) by its columns of op(B). If it has these rows (or these
 * columns: then A and B change places, C^T = op(B)^T op(A)^T), only the other matrix is sent, in
 * strips that are multiplied as they arrive. Otherwise the rows are gathered as well, for the whole
 * product. All ranks know all strips and their places. */
#ifndef DM_LAYOUT_BROADCAST_H
#define DM_LAYOUT_BROADCAST_H

#include "layout/distributed.h"
#include "layout/distribution.h"
#include "layout/flow.h"
#include "layout/mirror_rows.h"
#include "layout/split_k.h"

/* ---- how a matrix travels to ranks that multiply with it where their part of C is ----
 *
 * Each rank needs some columns of the matrix, all of its rows. They come in strips of columns: a
 * strip is gathered from the ranks that have parts of it, one piece from each, and is a dense
 * matrix. All ranks know all strips. */

typedef struct dm_strips {
  int ranks;
  const dm_mirror_rows *mirrored; /* NULL: C is not symmetric */
  int64_t depth;                  /* rows of the matrix */
  dm_range *rows, *cols, *wanted; /* of each rank: its part; the columns that it needs */
  bool own;   /* a rank's strips are of the columns that it needs or has; else all ranks */
  int groups; /* go through the same strips, in turn of these groups of columns */
  dm_range *group;
  int64_t count;  /* strips of each rank */
  int64_t slices; /* of each group */
  int64_t
      *bounds; /* slices + 1, counted from the first column of a group, or (MIRRORED) the last */
  int64_t most_cols; /* of a strip that travels */
} dm_strips;

/* How strips are cut. */
typedef struct dm_strip_widths {
  int first, growth, share; /* at first a FIRST-th of the columns, then GROWTH times as many as
                               before, at most a SHARE-th of them, ... */
  int64_t most;             /* ... and of these bytes */
} dm_strip_widths;

/* For products that take their operands as they are; and for those that prepare all of op(A) for
 * each strip, in modes that no library has. */
extern const dm_strip_widths dm_plain_strips, dm_prepared_strips;

/* The strips in which OF travels to the ranks of C, of which each needs its columns: a few, the
 * first one narrow, as WIDTHS says (but at least 128 columns of SIZE bytes per element).
 * Not *fits: parts are not contiguous, or one rank would give different pieces to others at
 * once. With MIRRORED, of a symmetric C, only what its halves need travels. Close also frees what a
 * failed open left. */
dm_status dm_strips_open(const dm_distribution *of, const dm_distribution *c, int ranks,
                         const dm_mirror_rows *mirrored, int64_t size,
                         const dm_strip_widths *widths, dm_strips *strips, bool *fits);
void dm_strips_close(dm_strips *strips);

/* The columns of STRIP of RANK, as a taker and as a giver; may be empty. */
dm_range dm_strips_cols(const dm_strips *strips, int64_t strip, int rank);

/* Whether RANK has a piece of it: its own rows of these columns. */
bool dm_strips_gives(const dm_strips *strips, int64_t strip, int rank);
bool dm_strips_takes(const dm_strips *strips, int64_t strip, int rank);

/* Whether any rank but EXCEPT, if that is not negative, takes it. */
bool dm_strips_needs(const dm_strips *strips, int64_t strip, int except);

/* Whether TAKER receives the piece of GIVER. */
bool dm_strips_moves(const dm_strips *strips, int64_t strip, int giver, int taker);

typedef struct dm_carried {
  dm_strips strips;
  dm_view part;    /* this rank's */
  dm_view replica; /* this rank's copy of a replicated op(B), of which nothing travels; or empty */
  bool by_columns; /* columns of strips are contiguous */
  bool split;      /* ranks have parts of columns */
} dm_carried;

typedef enum dm_hand { DM_RIGHT, DM_LEFT } dm_hand;

/* One product. */
typedef struct dm_broadcast {
  const dm_run *run;
  dm_workspace *space;
  dm_backend *backend; /* of SPACE when that is open */
  bool turned;         /* C^T = op(B)^T op(A)^T */
  bool both;           /* the left matrix travels, too: */
  const dm_distributed *matrix;
  const dm_strip_widths *widths;
  dm_carried carried[2];  /* DM_RIGHT: op(B); DM_LEFT: op(A)^T */
  dm_whole_product whole; /* this rank's: C, op(A) unless it travels, the scalars */
  int slots;              /* in the workspace; with BOTH and one more for the first strip */
  int64_t slot_bytes;
  int64_t joined, gathered; /* behind them: two joined strips; the rows of op(A) */
  dm_mirror_rows mirrored;  /* of a symmetric C, */
  int64_t mirrored_bytes;   /* which take the place of all but these rows */
  dm_split_k split_k;       /* or nothing travels but sums */
} dm_broadcast;

/* The same travel for matrices in other memory, ordered and aligned as those it was opened for, and
 * with other scalars. */
void dm_broadcast_move(dm_broadcast *broadcast, const dm_whole_product *whole);

/* Collective; WHOLE has this rank's parts. Strips have WIDTHS, of the two above. It needs *bytes
 * from the start of SPACE, which is opened later; both must outlive BROADCAST, as must MATRIX. Not
 * *fits: the ranks' parts cannot be multiplied so. Close also frees what a failed open left. */
dm_status dm_broadcast_open(dm_workspace *space, dm_backend *backend, const dm_run *run,
                            const dm_distributed matrix[3], const dm_whole_product *whole,
                            const dm_strip_widths *widths, dm_broadcast *broadcast, int64_t *bytes,
                            bool *fits);

/* With the workspace open: whether the backend multiplies all of this rank's products. */
bool dm_broadcast_is_suited(const dm_broadcast *broadcast);
void dm_broadcast_close(dm_broadcast *broadcast);

/* Whether every rank has whole rows of C (or columns: then C^T has whole rows in BROADCAST's
 * product).
 */
bool dm_broadcast_has_rows(const dm_broadcast *broadcast);

/* ---- the order in which strips travel ---- */

typedef struct dm_item {
  dm_hand hand;
  int64_t strip;
} dm_item;

int64_t dm_broadcast_items(const dm_broadcast *broadcast);
dm_item dm_broadcast_item(const dm_broadcast *broadcast, int64_t index);

/* The item whose slot this one takes; negative: none. */
int64_t dm_broadcast_before(const dm_broadcast *broadcast, int64_t index);

/* ---- places in the workspace ---- */

/* Bytes from its start to the slot of item INDEX, the same on all ranks. */
int64_t dm_broadcast_place(const dm_broadcast *broadcast, int64_t index);

/* Bytes of ROWS rows of COLS columns. */
int64_t dm_broadcast_bytes(const dm_broadcast *broadcast, int64_t rows, int64_t cols);

/* A dense matrix of ROWS x COLS at AT, as strips of HAND are ordered. */
dm_view dm_broadcast_dense(const dm_broadcast *broadcast, dm_hand hand, char *at, int64_t rows,
                           int64_t cols);

/* Whether an arrived strip is copied before it is multiplied, and to where: to one of JOINED
 * places, or into the gathered rows. */
enum { DM_JOINED = 2 };
bool dm_broadcast_joins(const dm_broadcast *broadcast, dm_hand hand);
dm_view dm_broadcast_joined(const dm_broadcast *broadcast, int64_t index);

/* The number of the place from which products read STRIP of op(B). */
enum { DM_SLOTS = 6, DM_READ = DM_SLOTS + 1 };
int dm_broadcast_read(const dm_broadcast *broadcast, int64_t strip);

/* ---- products ---- */

/* What this rank multiplies when item INDEX has arrived, and the part of its C that this is; false:
 * nothing. *strip: of op(B). */
bool dm_broadcast_product(const dm_broadcast *broadcast, int64_t index, dm_whole_product *product,
                          dm_extent *part, int64_t *strip);

/* Of a symmetric C: this rank's square on the diagonal, once the rows of op(A) are gathered; false:
 * none. */
bool dm_broadcast_square(const dm_broadcast *broadcast, dm_whole_product *product);

#endif
