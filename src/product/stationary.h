/* stationary: multiplies matrices in the memory of several ranks' GPUs, C where it is.
 *
 * A rank copies its piece of a strip (product/travel.h) to the workspace, from which the others
 * take it. A strip is multiplied with the whole depth of k at once: elements of C are rounded once,
 * alpha and beta included. Copies and transfers run while products do. */
#ifndef DM_PRODUCT_STATIONARY_H
#define DM_PRODUCT_STATIONARY_H

#include "product/travel.h"

/* Collective, with the same outcome on all ranks. BEFORE, unless NULL, is called once, while the
 * first strips travel, before the first product; it may be collective, and its errors must be
 * agreed. */
dm_status dm_stationary_multiply(dm_travel *travel, dm_status (*before)(void *context),
                                 void *context);

#endif
