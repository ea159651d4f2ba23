/* tile_sums: sums the checksums of C's tiles again while C is read in parts, to compare a file with
 * what was recorded during the computation. */
#ifndef DM_IO_TILE_SUMS_H
#define DM_IO_TILE_SUMS_H

#include "core/view.h"
#include "io/journal.h"

typedef struct dm_tile_sums dm_tile_sums;

/* For COUNT tiles of a C with COLS columns; the caller keeps TILES. *sums is NULL if COUNT is 0;
 * all functions then treat the tiles as correct. DM_E_FIT. */
dm_status dm_tile_sums_open(const dm_tile_record *tiles, int64_t count, int64_t cols,
                            dm_tile_sums **sums);
void dm_tile_sums_close(dm_tile_sums *sums);

/* Adds VIEW (host memory), which is at (row, col) of C. Add every element once, on any thread. */
void dm_tile_sums_add(dm_tile_sums *sums, dm_view view, int64_t row, int64_t col);

/* Adds COUNT elements of DTYPE from element FIRST of C, counted row-major. */
void dm_tile_sums_add_run(dm_tile_sums *sums, const void *data, dm_dtype dtype, int64_t first,
                          int64_t count);

/* The sums so far, one per tile; add those of several ranks. */
uint64_t *dm_tile_sums_values(dm_tile_sums *sums, int64_t *count);

/* The first tile that differs from its record, or NULL; *place counts from 1. */
const dm_tile_record *dm_tile_sums_wrong(const dm_tile_sums *sums, int64_t *place);

/* DM_E_IO: TILE, whose place counts from 1, differs in FILE from what was written. */
dm_status dm_tile_differs(const dm_tile_record *tile, int64_t place, const char *file);

/* The same for the first wrong tile, or DM_OK. */
dm_status dm_tile_sums_compare(const dm_tile_sums *sums, const char *file);

#endif
