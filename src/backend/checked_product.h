/* checked_product: a product of whole matrices with its verification (check/freivalds.h) in one
 * group of columns; the vectors stay on the GPU. */
#ifndef DM_BACKEND_CHECKED_PRODUCT_H
#define DM_BACKEND_CHECKED_PRODUCT_H

#include "backend/backend_table.h"
#include "core/row_bound.h"

/* One of several ranks: it has rows of op(A) and of C, and a part of op(B), which starts at (ROW,
 * COL); no part is empty. */
struct dm_checked_ranks {
  int64_t row, col;
  /* Collective: sums COUNT numbers of f64, or integers, over the ranks, unless one comes with an
   * error, MINE. VALUES have room for one more; NULL with an error. First called for the squares of
   * all columns of op(B), unless they are integers, then for op(B) w and its sizes. */
  dm_status (*sum)(void *context, dm_status mine, void *values, int64_t count, bool integers);
  /* Multiplies, and returns when C is complete; called once the sums of A and B are taken, unless
   * one fails. */
  dm_status (*multiply)(void *context);
  void *context;
};

struct dm_checked_product {
  dm_whole_product whole; /* that the backend suits */
  uint64_t seed;
  dm_row_factors factors;
  const dm_checked_ranks *ranks; /* NULL: one process */
};

struct dm_checked_found {
  dm_columns_found columns;
  dm_rows_found rows;
};

/* Whether the backend has this. */
bool dm_backend_checks(const dm_backend *backend);

/* Synchronous. */
dm_status dm_backend_multiply_checked(dm_backend *backend, const dm_checked_product *product,
                                      dm_checked_found *found);

#endif
