/* center_product: changes the factors of a product as its equation states. */
#ifndef DM_PRODUCT_CENTER_PRODUCT_H
#define DM_PRODUCT_CENTER_PRODUCT_H

#include "product/description.h"
#include "transform/centered.h"

/* Collective: A and B of MULTIPLY, as dm_center_factors does; copies of matrices in memory take
 * their place. */
dm_status dm_center_product(dm_run *run, dm_multiply *multiply, dm_centered_room rooms[2],
                            dm_centered *centered);

#endif
