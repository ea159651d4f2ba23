/* in_place_impl: a product under way, shared by in_place.c, which opens it, and
 * in_place_multiply.c. */
#ifndef DM_PRODUCT_IN_PLACE_IMPL_H
#define DM_PRODUCT_IN_PLACE_IMPL_H

#include "product/in_place.h"

/* One product. */
typedef struct dm_in_place_product {
  dm_run *run;
  const dm_multiply *multiply;
  dm_multiply *centered; /* the same, if copies of A and B are centered; else NULL */
  dm_centered copies;    /* these */
  dm_in_place_outcome *outcome;
  dm_in_place_places *places;
  dm_backend *backend;
  dm_whole_product whole;
  dm_freivalds *check;      /* NULL: the verification is the backend's, or off */
  bool brought;             /* matrices that are moved are where they are multiplied */
  bool by_columns;          /* exponents of residues are those of C^T */
  void *stream;             /* of C, if the product is only posted */
  dm_stationary_c *started; /* with several ranks: to be finished, ... */
  bool begun;               /* ... or to be started first */
  int summed;               /* sums over the ranks so far, of one verification or two */
} dm_in_place_product;

/* Whether lines of the centered copies are NaN, because they are constant. */
bool dm_in_place_has_nan(const dm_in_place_product *product);

/* Collective: multiplies, verifies C as the caller wished, and delivers it; a C that is wrong is
 * multiplied once more if that is possible. */
dm_status dm_in_place_multiply(dm_in_place *cached, dm_in_place_product *product);

#endif
