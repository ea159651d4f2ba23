/* band: some rows of a matrix in GPU memory while they are in pinned host memory. */
#ifndef DM_LIB_BAND_H
#define DM_LIB_BAND_H

#include "backend/backend.h"
#include "plan/partition.h"

typedef struct dm_band dm_band;

/* For HEIGHT rows at a time of the columns COLS of MATRIX, memory of BACKEND's GPU.  Close takes
 * NULL, too. */
dm_status dm_band_open(dm_backend *backend, dm_view matrix, dm_range cols, int64_t height,
                       dm_band **band);
void dm_band_close(dm_band *band);

/* From now on it has ROWS, as they are in GPU memory or, without READS, undefined. */
dm_status dm_band_turn(dm_band *band, dm_range rows, bool reads);

/* They go back. */
dm_status dm_band_write(dm_band *band);

/* Where it has a part of them, counted as those of the matrix. */
dm_view dm_band_part(const dm_band *band, int64_t row, int64_t col, int64_t rows, int64_t cols);

#endif
