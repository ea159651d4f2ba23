/* tiling: the tile sizes of jit: the candidates, the built-in ones, and the choice for a product.
 * Plain arithmetic, in every build. */
#ifndef DM_BACKEND_TILING_H
#define DM_BACKEND_TILING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "kernels/tile_sizes.h"

/* Classes by the number of 128 x 128 tiles of C per multiprocessor: at most 1/4, 1, 8, or more. */
typedef enum dm_tiling_class {
  DM_TILES_TINY,
  DM_TILES_SMALL,
  DM_TILES_MEDIUM,
  DM_TILES_LARGE,
  DM_TILING_CLASSES
} dm_tiling_class;

enum { DM_TILING_TYPES = 2 }; /* f32, f64 */

/* The tilings of all products of a job. Plain data: rank 0 sends it to all. */
typedef struct dm_tilings {
  dm_tiling of[DM_TILING_TYPES][DM_TILING_CLASSES];
} dm_tilings;

/* Resources of a block. */
typedef struct dm_tiling_need {
  int threads;
  int64_t shared; /* bytes */
} dm_tiling_need;

const char *dm_tiling_class_name(dm_tiling_class kind);
dm_tiling_class dm_tiling_class_of(int64_t rows, int64_t cols, int processors);

/* Size of a square C in the middle of the class, for tuning. */
int64_t dm_tiling_class_size(dm_tiling_class kind, int processors);

/* 0 for f32, 1 for f64, -1 for a type that jit does not multiply. */
int dm_tiling_type(dm_dtype dtype);

/* The default, without tuning. */
dm_tilings dm_tilings_built_in(void);

enum { DM_TILING_CANDIDATES = 13 };

/* All tilings that jit is compiled for in type 0 or 1, including the built-in ones; unused entries
 * are 0. */
extern const dm_tiling dm_tiling_candidates[DM_TILING_TYPES][DM_TILING_CANDIDATES];

dm_tiling_need dm_tiling_need_of(const dm_tiling *tiling, dm_dtype dtype);

bool dm_tiling_equal(const dm_tiling *x, const dm_tiling *y);

/* Writes "256x128x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=0"; returns TEXT. */
char *dm_tiling_format(const dm_tiling *tiling, char text[128]);

/* The candidate of TYPE (0 or 1) with this TEXT, which may be anything; NULL: none. */
const dm_tiling *dm_tiling_find(int type, const char *text);

#endif
