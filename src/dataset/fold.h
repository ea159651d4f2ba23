/* fold: a matrix that is stored as a line of numbers, in a way that the user states. */
#ifndef DM_DATASET_FOLD_H
#define DM_DATASET_FOLD_H

#include <stdint.h>

typedef enum dm_fold_way {
  DM_NOT_FOLDED,
  DM_FOLD_ROWS,    /* row after row */
  DM_FOLD_COLUMNS, /* column after column */
  DM_FOLD_LOWER,   /* rows of the lower triangle of a symmetric matrix, with its diagonal */
  DM_FOLD_UPPER    /* the same of the upper one */
} dm_fold_way;

/* ROWS and COLS only of whole matrices. */
typedef struct dm_fold {
  dm_fold_way way;
  int64_t rows, cols;
} dm_fold;

#endif
