/* moments: sums from which the means and standard deviations of rows or columns follow.
 *
 * Values are taken as f64. Blocks of them are summed around the mean so far and then joined (Chan,
 * Golub, LeVeque 1979), all relative to an element of the line: so large means with small
 * deviations lose no digits, and equal elements have exactly their mean. NaN is a missing value: it
 * is counted and left out. */
#ifndef DM_TRANSFORM_MOMENTS_H
#define DM_TRANSFORM_MOMENTS_H

#include "comm/comm.h"
#include "core/centering.h"
#include "core/crew.h"
#include "core/view.h"

/* Of the rows or columns of a matrix. Parts of the matrix are added to groups, each by one rank;
 * groups are joined in order, so that the result does not depend on the number of ranks if the
 * groups do not. */
typedef struct dm_moments {
  bool by_rows;
  int64_t lines, size;   /* size: elements of a line, */
  int64_t length;        /* but for those left out */
  int64_t parts;         /* real numbers of an element: 2 if it is complex */
  int groups, cuts;      /* cuts: parts of each group, for threads, if there are few lines */
  double *numbers;       /* for each: DM_MOMENTS (core/centering.h) of all lines */
  const double *weights; /* of the elements of a line, or DM_LEFT_OUT; NULL: 1 */
  const double *powers;  /* of two, that the elements of each line are multiplied with; NULL: 1 */
  _Atomic int64_t first_missing; /* row * columns + column; INT64_MAX: none */
} dm_moments;

/* WEIGHTS, one for each element of a line in the matrix, stay the caller's. */
dm_status dm_moments_open(int64_t rows, int64_t cols, bool by_rows, bool is_complex, int groups,
                          const double *weights, dm_moments *moments);
void dm_moments_close(dm_moments *moments);

/* Begins again, with POWERS, which stay the caller's. */
void dm_moments_begin_again(const double *powers, dm_moments *moments);

/* Adds PART, in host memory, whose first element is (row, col), to GROUP, on the threads of CREW
 * (or NULL): a dm_part_taker, whose context is this. */
typedef struct dm_moments_group {
  dm_crew *crew;
  dm_moments *moments;
  int group;
} dm_moments_group;
dm_status dm_moments_take(void *context, dm_view part, int64_t row, int64_t col);

/* The numbers WHAT of all lines, DM_MEAN and so on, of GROUP without elements: a caller that knows
 * them sets them in place of adding. Element I of LINE is missing. */
double *dm_moments_of(const dm_moments *moments, int group, int what);
void dm_moments_note_missing(dm_moments *moments, int64_t line, int64_t i);

/* Collective in COMM: from now on all ranks have the moments of the whole matrix. */
dm_status dm_moments_join(dm_moments *moments, const dm_comm *comm);

/* Of line I, after the join, times its power. MEAN: as many numbers as an element has; NaN if all
 * values are missing. Squares are those of the magnitudes of differences from the mean: 0 only if
 * all values are equal, else the smallest number of f64 if they vanish. */
void dm_moments_mean(const dm_moments *moments, int64_t i, double *mean);
double dm_moments_squares(const dm_moments *moments, int64_t i);
int64_t dm_moments_missing(const dm_moments *moments, int64_t i);

#endif
