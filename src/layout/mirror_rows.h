/* mirror_rows: a symmetric product of several ranks' GPUs, each of which has rows of C.
 *
 * Of the two blocks of C that are each other's mirror images, on the rows of two ranks, each of
 * these multiplies a half, whose image the other one takes. The square on the diagonal takes only
 * the rank's own rows of op(A): it is multiplied while images travel. */
#ifndef DM_LAYOUT_MIRROR_ROWS_H
#define DM_LAYOUT_MIRROR_ROWS_H

#include "backend/backend_table.h"
#include "layout/exchange.h"

typedef struct dm_mirror_rows {
  dm_range *rows; /* of C, of each rank; NULL: C is not symmetric */
  int ranks;
  bool conjugate;           /* images are */
  dm_message_rounds rounds; /* in which images are exchanged, some rows of each */
} dm_mirror_rows;

/* C, of N rows, whose elements have SIZE bytes; HERMITIAN: or symmetric. ROWS becomes the images'.
 * *bytes: of the workspace, from its start, that the exchange needs. */
dm_status dm_mirror_rows_open(dm_range *rows, int ranks, int64_t size, bool hermitian,
                              dm_mirror_rows *mirrored, int64_t *bytes);
void dm_mirror_rows_close(dm_mirror_rows *mirrored);

/* Whether RANK multiplies elements of the columns COLS of C outside of its square. */
bool dm_mirror_rows_need(const dm_mirror_rows *mirrored, int rank, dm_range cols);

/* Posts the products of rank RANK that are needed of P, which covers the columns COLS of C and its
 * rows from ROW on, but for those of its square; *done covers them. */
dm_status dm_mirror_rows_multiply(const dm_mirror_rows *mirrored, dm_backend *backend, int rank,
                                  const dm_whole_product *p, int64_t row, dm_range cols,
                                  dm_event *done);

/* Collective, with the same outcome on all ranks, when these products are done: completes C, this
 * rank's rows, of whose square SQUARE is the product. */
dm_status dm_mirror_rows_complete(const dm_mirror_rows *mirrored, const dm_run *run,
                                  dm_workspace *space, dm_view c, dm_event square);

#endif
