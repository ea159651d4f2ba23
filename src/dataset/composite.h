/* composite: a matrix made of rectangles of other datasets, its sources.
 *
 * The description is one block of memory without pointers, so that it can be sent from a child
 * process and to other ranks. */
#ifndef DM_DATASET_COMPOSITE_H
#define DM_DATASET_COMPOSITE_H

#include "dataset/packed_dataset.h"

enum { DM_COMPOSITE_SOURCES = 1 << 16, DM_COMPOSITE_PATCHES = 1 << 20 };

/* A rectangle of the matrix, and its place in a source: ROW_STEP and COL_STEP are the distances of
 * its rows and columns there. Patches are sorted by row, then column,
 * and never overlap. */
typedef struct dm_patch {
  int64_t row, col, rows, cols;
  int64_t source, source_row, source_col;
  int64_t row_step, col_step; /* 0 while a composite is made: 1 */
  int64_t folded;             /* 1: the source is one row, and both distances are along it */
  int64_t reach;              /* the largest row + rows of this patch and those before it */
} dm_patch;

typedef struct dm_composite {
  int64_t bytes; /* of the block: this, the patches, the words, the sources, their names */
  int64_t patches, sources, names;
  int64_t words;          /* of 8 bytes: factors of slices, and masks, of the sources */
  int64_t missing;        /* elements in no patch: they have the fill value */
  unsigned char fill[16]; /* an element of the matrix's type in this machine's byte order */
} dm_composite;

const dm_patch *dm_composite_patches(const dm_composite *composite);

/* The part of PATCH, ROWS x COLS at (row, col) of the matrix, that is in it. */
dm_patch dm_patch_at(const dm_patch *patch, int64_t row, int64_t col, int64_t rows, int64_t cols);

/* Fills DATASET with source I. */
void dm_composite_source(const dm_composite *composite, int64_t i, dm_dataset *dataset);

/* Whether A and B, or NULL, are the same elements of the same files. */
bool dm_composite_is_same(const dm_composite *a, const dm_composite *b);

/* The first patch that may have elements in ROW or below. */
int64_t dm_composite_first(const dm_composite *composite, int64_t row);

/* Whether the block of BYTES can be used as a composite of ROWS x COLS elements: it comes from a
 * process that read an untrusted file. ACCEPT judges each source. */
bool dm_composite_is_sane(const dm_composite *composite, int64_t bytes, int64_t rows, int64_t cols,
                          bool (*accept)(const dm_dataset *source));

/* ---- making one ---- */

/* All zero: empty. */
typedef struct dm_composer {
  dm_patch *patch;
  int64_t patches, patch_room;
  dm_packed_dataset *source; /* names in NAMES */
  int64_t sources, source_room;
  char *names;
  int64_t names_used, names_room;
  uint64_t *word;
  int64_t words, word_room;
  int64_t *table; /* hash table of sources by name: index + 1 */
  int64_t places;
} dm_composer;

void dm_composer_free(dm_composer *composer);

/* Fills DATASET with source NUMBER. */
void dm_composer_source(const dm_composer *composer, int64_t number, dm_dataset *dataset);

/* Finds the source AT, read as VECTOR if it has one dimension, with AXES (NULL: none); -1: it is
 * not there yet. */
int64_t dm_composer_find(const dm_composer *composer, const dm_location *at, dm_vector vector,
                         const dm_axes *axes);

/* DM_E_INPUT: too many. *NUMBER: of the source, which must be new. */
dm_status dm_composer_add_source(dm_composer *composer, const dm_dataset *source, int64_t *number);
dm_status dm_composer_add_patch(dm_composer *composer, const dm_patch *patch);

/* Adds PATCH of the dataset WHOLE, or of what WHOLE is made of. DM_E_INPUT: too many, or WHOLE does
 * not have all elements. */
dm_status dm_composer_add_part(dm_composer *composer, const dm_dataset *whole,
                               const dm_patch *patch);

/* Makes the composite of ROWS x COLS elements, which the caller frees. DM_E_INPUT: patches
 * overlap, or lie outside of the matrix or their source. */
dm_status dm_composer_finish(dm_composer *composer, int64_t rows, int64_t cols,
                             dm_composite **composite);

/* Makes DATASET, so far a copy of WHOLE, the finished composite of ROWS x COLS elements of WHOLE.
 */
dm_status dm_composer_finish_dataset(dm_composer *composer, int64_t rows, int64_t cols,
                                     const dm_dataset *whole, dm_dataset *dataset);

/* DATASET has a mask, or factors for each of its slices. It becomes a composite with one source,
 * itself; the composite holds the mask and the factors. */
dm_status dm_composer_wrap(dm_dataset *dataset);

/* Fills in what DATASET, a composite, says of all its sources together: bytes, filters, chunks. */
void dm_composite_sum_up(dm_dataset *dataset);

/* Lists in DATASET what the attributes of all sources mean, for messages only: each source is read
 * with its own meaning. */
void dm_composite_sum_meanings(dm_dataset *dataset);

#endif
