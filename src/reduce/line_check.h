/* line_check: whether what is stored of one line of C is what a reduction keeps of it. The line's
 * elements are computed again and come in the order of their indices, each with a bound: C's own
 * element is not farther away. */
#ifndef DM_REDUCE_LINE_CHECK_H
#define DM_REDUCE_LINE_CHECK_H

#include "reduce/reduction.h"

enum { DM_LINE_WRONG_TEXT = 160 };

typedef struct dm_line_check {
  const dm_reduction *what;
  int64_t line, length;
  /* What is stored: of NONE all elements of the line; of TOP without what fills up the line; of a
   * number one, which is VALUES[0] or INDICES[0]; the other is NULL. */
  int64_t count;
  double *values;
  int64_t *indices;
  bool integral; /* numbers are integers: what fills up a line of TOP is 0, not NaN */

  int64_t *order;       /* places in the list, by their indices */
  int64_t next;         /* in ORDER: the next element that is listed */
  double least, most;   /* an extreme is between these */
  double before, after; /* of ARGMAX: what elements around the one are at least, */
  double own_most;      /* and itself at most; */
  bool own_met;         /* it is a number */
  long double sum, sizes, squares, off, off_squares;
  int64_t numbers; /* that are not NaN */
  double residual; /* the largest distance in units of its bound */
  int64_t unchecked;
  char wrong[DM_LINE_WRONG_TEXT]; /* the first thing that is wrong; "": nothing so far */
} dm_line_check;

/* Starts with CHECK's WHAT, LINE, LENGTH, VALUES, INDICES and, of TOP, all entries as COUNT;
 * VALUES and INDICES stay the caller's. Looks at the stored numbers alone: their order, and what is
 * never kept. */
dm_status dm_line_check_open(dm_line_check *check);
void dm_line_check_close(dm_line_check *check);

/* Compares COUNT elements from FIRST on: NaN is NaN, and Inf Inf, whatever its bound. A BOUND that
 * is infinite says that the element is not known. */
void dm_line_check_add(dm_line_check *check, int64_t first, int64_t count, const double *values,
                       const double *bounds);

/* All elements have come. */
void dm_line_check_end(dm_line_check *check);

#endif
