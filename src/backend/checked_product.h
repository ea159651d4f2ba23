/* checked_product: a product of whole matrices with its verification (check/freivalds.h) in one
 * group of columns; the vectors stay on the GPU. */
#ifndef DM_BACKEND_CHECKED_PRODUCT_H
#define DM_BACKEND_CHECKED_PRODUCT_H

#include "backend/backend_table.h"
#include "core/row_bound.h"

struct dm_checked_product {
  dm_whole_product whole; /* that the backend suits */
  uint64_t seed;
  dm_row_factors factors;
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
