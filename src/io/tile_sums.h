/* tile_sums: the checksums of C's tiles once more, added up while C passes in parts, so that what
 * is in a file can be compared with what was recorded when it was computed. */
#ifndef DM_IO_TILE_SUMS_H
#define DM_IO_TILE_SUMS_H

#include "core/view.h"
#include "io/journal.h"

typedef struct dm_tile_sums dm_tile_sums;

/* Of COUNT tiles of a C with COLS columns, which the caller keeps; *sums is NULL where COUNT is 0,
 * and all functions take that for tiles that are as they should be.  DM_E_FIT. */
dm_status dm_tile_sums_open(const dm_tile_record *tiles, int64_t count, int64_t cols,
                            dm_tile_sums **sums);
void dm_tile_sums_close(dm_tile_sums *sums);

/* VIEW (host memory) lies at (row, col) of C.  Every element is to be added once, by any thread. */
void dm_tile_sums_add(dm_tile_sums *sums, dm_view view, int64_t row, int64_t col);

/* COUNT elements of DTYPE from element FIRST of C on, counted row by row. */
void dm_tile_sums_add_run(dm_tile_sums *sums, const void *data, dm_dtype dtype, int64_t first,
                          int64_t count);

/* The sums so far, one for each tile: those of several ranks are to be added. */
uint64_t *dm_tile_sums_values(dm_tile_sums *sums, int64_t *count);

/* The first tile that is not as it was recorded, or NULL; *place counts from 1. */
const dm_tile_record *dm_tile_sums_wrong(const dm_tile_sums *sums, int64_t *place);

/* DM_E_IO: TILE, whose place counts from 1, is not in FILE what was written there. */
dm_status dm_tile_not_written(const dm_tile_record *tile, int64_t place, const char *file);

/* The same of the first that is wrong, or DM_OK. */
dm_status dm_tile_sums_compare(const dm_tile_sums *sums, const char *file);

#endif
