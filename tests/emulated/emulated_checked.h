/* emulated_checked: the cuda backend's product with its verification, by the host's functions. */
#ifndef DM_TESTS_EMULATED_EMULATED_CHECKED_H
#define DM_TESTS_EMULATED_EMULATED_CHECKED_H

#include "backend/verify_sums.h"

dm_status emulated_multiply_checked(dm_backend *backend, const dm_verified_product *product,
                                    dm_verified_found *found);

#endif
