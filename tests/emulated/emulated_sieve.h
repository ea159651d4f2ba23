/* emulated_sieve: what a reduction may keep of a tile, as the cuda backend finds it. */
#ifndef DM_TESTS_EMULATED_EMULATED_SIEVE_H
#define DM_TESTS_EMULATED_EMULATED_SIEVE_H

#include "backend/backend.h"

dm_status emulated_sift(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                        int64_t room, int64_t *count, int64_t *nans);
dm_status emulated_raise(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                         bool by_row, int64_t best, float *limits);

#endif
