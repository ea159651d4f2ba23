/* centering: what the rows or columns of a matrix are shifted by and multiplied with, so that their
 * mean becomes 0, their standard deviation 1, or both; and what their missing values become.
 * Applied to copies, or while elements are read. */
#ifndef DM_CORE_CENTERING_H
#define DM_CORE_CENTERING_H

#include <stdbool.h>
#include <stdint.h>

/* The rows or columns of a matrix. */
typedef enum dm_lines { DM_NO_LINES, DM_COLUMN_LINES, DM_ROW_LINES } dm_lines;

/* Which lines of a matrix are centered: their mean becomes 0; and scaled: their standard deviation
 * becomes 1. If both are stated, they are the same. */
typedef struct dm_standard {
  dm_lines center, scale;
  bool fills; /* missing values become the mean of their line; if no lines are stated, column */
  bool center_by, scale_by; /* the lines are shifted by, and divided by, numbers of the user */
  bool weighted;  /* elements are multiplied with the roots of the weights of the inner dimension */
  bool by_length; /* scaled by the root of the sum of squares, not by the deviation */
  bool by_power;  /* scaled by the power of two below the deviation; constant lines become 0 */
  bool complete;  /* terms that A or B has no value for are left out of all sums */
  bool relates;   /* genotypes, of which rows are variants (transform/relationship.h), ... */
  bool of_all;    /* ... by the allele frequencies of all samples, not only of founders */
} dm_standard;

static inline dm_lines dm_standard_lines(const dm_standard *standard) {
  if (standard->center != DM_NO_LINES) return standard->center;
  if (standard->scale != DM_NO_LINES) return standard->scale;
  return standard->fills ? DM_COLUMN_LINES : DM_NO_LINES;
}

/* Whether elements change, so that integers become f64. */
static inline bool dm_standard_changes(const dm_standard *standard) {
  return dm_standard_lines(standard) != DM_NO_LINES || standard->weighted || standard->complete;
}

/* Whether both ask for the same; numbers of the user are taken to differ. */
static inline bool dm_standard_is_same(const dm_standard *a, const dm_standard *b) {
  return a->center == b->center && a->scale == b->scale && a->fills == b->fills &&
         a->weighted == b->weighted && a->complete == b->complete && a->relates == b->relates &&
         a->of_all == b->of_all && a->by_length == b->by_length && !a->center_by && !a->scale_by &&
         !b->center_by && !b->scale_by;
}

const char *dm_lines_name(dm_lines lines); /* "none", "columns", "rows" */

/* Which elements of a matrix are missing: those equal to one of VALUES (numbers of a real matrix),
 * and with NAN NaN. With ZERO they are taken as 0, else as NaN. */
enum { DM_GAPS = 16 };
typedef struct dm_gaps {
  bool nan, zero;
  int count;
  double values[DM_GAPS];
} dm_gaps;

/* The weight of a term that is left out: its elements become 0, whatever they are. */
#define DM_LEFT_OUT (-1.0)

/* What the mean and the deviation of a line follow from, for each number of its elements: FROM, one
 * of them that is not missing; the MEAN of the differences from it; the SQUARES of the differences
 * from the mean, 0 only if there are none; the sum of the WEIGHTs; and how many elements are
 * PRESENT, not missing. */
enum { DM_FROM, DM_MEAN, DM_SQUARES, DM_WEIGHT, DM_PRESENT, DM_MOMENTS };

/* How moments are taken: of rows or columns, whose elements are multiplied with POWERS (one for
 * each line; NULL: 1) and have WEIGHTS (one for each place in a line, or DM_LEFT_OUT; NULL: 1). */
typedef struct dm_moments_how {
  bool by_rows;
  const dm_gaps *gaps;
  const double *powers, *weights;
} dm_moments_how;

/* What is read in place of a centered value: 1 if it is not missing, else 0; or its square. */
typedef enum dm_role { DM_ROLE_VALUES, DM_ROLE_PRESENT, DM_ROLE_SQUARES } dm_role;

/* Element x of line i becomes (power[i] * x - shift[i]) * factor[i]; before SHIFT is subtracted, a
 * missing one, NaN, becomes fill[i]. POWER holds powers of two, so that no square of a difference
 * overflows or vanishes. The arrays follow the struct in one block of memory; SHIFT and FILL have
 * two f64 for each number of a complex matrix. */
typedef struct dm_centering {
  dm_lines lines;
  dm_role role;
  int64_t count;
  int64_t parts;        /* numbers of an element */
  bool by_length;       /* the lines are scaled so, */
  int64_t constant;     /* scaled lines with equal elements, or with no length: they become NaN */
  int64_t empty;        /* lines without a value that is not missing: they become NaN */
  int64_t filled;       /* missing values */
  double squares;       /* the sum of the squares of all centered values; of moments only */
  int64_t complete;     /* terms that are not left out; -1: none is, whatever is missing */
  int64_t founders;     /* samples whose alleles were counted; 0: it is no relationship, ... */
  int64_t left_out;     /* ... of which terms are on X, Y or MT */
  const double *power;  /* NULL: 1 */
  const double *shift;  /* NULL: 0 */
  const double *factor; /* NULL: 1 */
  const double *fill;   /* NULL: NaN stays */
  dm_lines weight_lines;
  const double *weight; /* of these lines, whatever the others are, or DM_LEFT_OUT; NULL: 1 */
  uint64_t user_sum;    /* a checksum of the user's numbers; 0: there are none */
} dm_centering;

/* Whether line I is constant, or has no mean: all of its elements become NaN. */
bool dm_centering_is_nan(const dm_centering *centering, int64_t i);

/* VALUES, COUNT elements of one row of the matrix from (row, col) on, as f64 (two f64 each if
 * VALUES_ARE_COMPLEX). With TURNED, of one column. */
void dm_centering_apply(const dm_centering *centering, int64_t row, int64_t col, bool turned,
                        double *values, bool values_are_complex, int64_t count);

#endif
