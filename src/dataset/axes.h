/* axes: how a matrix lies in a dataset of any number of dimensions: the first of them are its rows,
 * the others its columns, both in C order. */
#ifndef DM_DATASET_AXES_H
#define DM_DATASET_AXES_H

#include <stdbool.h>
#include <stdint.h>

enum { DM_AXES = 8 };

typedef struct dm_axes {
  int count;   /* in dm_dataset 0: rows and columns say it all */
  int of_rows; /* the first axis of the columns */
  int64_t extent[DM_AXES];
  int64_t chunk[DM_AXES]; /* 0: not chunked */
} dm_axes;

/* The axes of one side of the matrix: of its rows (0), or of its columns (1). */
typedef struct dm_side {
  int count;
  const int64_t *extent, *chunk;
} dm_side;

dm_side dm_axes_side(const dm_axes *axes, int side);

/* Product of the extents; -1: it overflows. */
int64_t dm_side_size(dm_side side);

/* The indices of element INDEX of a side. */
void dm_side_place(dm_side side, int64_t index, int64_t *place);

/* The index of element (ROW, COL) of the matrix along AXIS and the next axes, COUNT in all, in C
 * order. */
int64_t dm_axes_index(const dm_axes *axes, int axis, int count, int64_t row, int64_t col);

/* Every STEP-th index from FIRST on. */
typedef struct dm_line {
  int64_t first, step;
} dm_line;

static inline int64_t dm_line_at(dm_line line, int64_t i) {
  return line.first + line.step * i;
}

/* The indices i of LINE in [FROM, FROM + COUNT) with first <= line[i] < first + length: *from and
 * *count. */
void dm_line_clip(dm_line line, int64_t first, int64_t length, int64_t *from, int64_t *count);

/* A box of a side: per axis, where it starts, the step, and how many. Returns how many elements of
 * LINE, at most COUNT, the largest box from its first one on has. */
int64_t dm_side_box(dm_side side, dm_line line, int64_t count, int64_t *start, int64_t *step,
                    int64_t *number);

/* ---- chunks ---- */

/* Chunks along a side, and elements of a chunk. */
int64_t dm_side_chunks(dm_side side);
int64_t dm_side_chunk_size(dm_side side);

/* The first element of chunk NUMBER of a side, and its elements inside of the dataset; *partial:
 * it has others. */
int64_t dm_side_chunk_start(dm_side side, int64_t number);
int64_t dm_side_chunk_elements(dm_side side, int64_t number, bool *partial);

/* The chunks that may have elements FIRST to LAST: from *chunk on, *count. */
void dm_side_chunks_of(dm_side side, int64_t first, int64_t last, int64_t *chunk, int64_t *count);

/* Consecutive elements of a side that a chunk holds one after another, from INSIDE on. */
typedef struct dm_stretch {
  int64_t first, inside, length;
} dm_stretch;

/* Run I of chunk NUMBER of a side; false: there are fewer. */
bool dm_side_run(dm_side side, int64_t number, int64_t i, dm_stretch *run);

#endif
