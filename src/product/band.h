/* band: keeps some rows of a matrix in GPU memory in pinned host memory. */
#ifndef DM_PRODUCT_BAND_H
#define DM_PRODUCT_BAND_H

#include "backend/backend.h"
#include "plan/partition.h"

typedef struct dm_band dm_band;

/* For HEIGHT rows at once of the columns COLS of MATRIX, in memory of BACKEND's GPU. Close accepts
 * NULL. */
dm_status dm_band_open(dm_backend *backend, dm_view matrix, dm_range cols, int64_t height,
                       dm_band **band);
void dm_band_close(dm_band *band);

/* Moves the band to ROWS; copies them from GPU memory if READS, else leaves them undefined. */
dm_status dm_band_turn(dm_band *band, dm_range rows, bool reads);

/* Copies the rows back. */
dm_status dm_band_write(dm_band *band);

/* The band's memory of a part of its rows, in coordinates of the matrix. */
dm_view dm_band_part(const dm_band *band, int64_t row, int64_t col, int64_t rows, int64_t cols);

#endif
