/* meaning: what the attributes of a dataset say about its stored numbers: packing, another sign,
 * missing values; and how its rows or columns are centered. Applied while elements are read. */
#ifndef DM_FILE_MEANING_H
#define DM_FILE_MEANING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/view.h"

enum { DM_MISSING_VALUES = 16, DM_MISSING_TEXT = 64, DM_MEANING_TEXT = 400 };

/* What becomes of missing values. */
typedef enum dm_missing {
  DM_MISSING_REFUSED,
  DM_MISSING_NAN,
  DM_MISSING_ZERO,
  DM_MISSING_MEAN,     /* of their line: readers deliver NaN, which dm_centering replaces */
  DM_MISSING_PAIRWISE, /* left out of the sums of each pair of lines; the same */
  DM_MISSING_END
} dm_missing;

const char *dm_missing_name(dm_missing missing); /* "refuse", "nan", ... */

/* Plain data; all zero: the stored numbers are the values. */
typedef struct dm_meaning {
  bool active;
  bool packed;     /* value = scale * number + offset */
  bool other_sign; /* signed integers are meant as unsigned, or the reverse */
  bool nan;        /* NaN is missing */
  bool ranged;     /* numbers below LOW or above HIGH are missing ... */
  bool of_values;  /* ... or, if packed, values */
  bool found;      /* stored numbers may mean "missing"; of a composite, those of a source */
  bool asked;      /* ... only the user does */
  dm_missing missing;
  dm_dtype type; /* of the values */
  double scale, offset, low, high;
  int count;
  double real[DM_MISSING_VALUES];   /* the numbers that mean "missing", ... */
  int64_t whole[DM_MISSING_VALUES]; /* ... and as integers of 64 bits */
  char text[DM_MEANING_TEXT];       /* for people, or "" */
  char warning[DM_MEANING_TEXT];    /* what stands beside the numbers and is not applied, or "" */
} dm_meaning;

/* The missing values met so far. Several threads may add. */
typedef struct dm_missed {
  _Atomic int64_t count, first; /* first: row * columns + column */
} dm_missed;

/* The type of numbers stored as DTYPE before they are unpacked. */
dm_dtype dm_meaning_number(const dm_meaning *meaning, dm_dtype dtype);

/* Whether values are the stored elements of DTYPE, unless they are missing. */
bool dm_meaning_only_scans(const dm_meaning *meaning);

/* DST (f64, or c128, packed) = the values of one row of STORED, which starts at element (row, col)
 * of a dataset with COLS columns. Missing ones are counted in MISSED and replaced. */
void dm_meaning_apply(const dm_meaning *meaning, dm_view stored, int64_t row, int64_t col,
                      int64_t cols, double *dst, dm_missed *missed);

/* The same in place, for a PART that was read without conversion. */
void dm_meaning_scan(const dm_meaning *meaning, dm_view part, int64_t row, int64_t col,
                     int64_t cols, dm_missed *missed);

/* ---- what the rows or columns of a dataset are shifted by and multiplied with while they are
 * read, so that their mean becomes 0, their standard deviation 1, or both; and what their missing
 * values become ---- */

/* The rows or columns of a matrix. */
typedef enum dm_lines { DM_NO_LINES, DM_COLUMN_LINES, DM_ROW_LINES } dm_lines;

/* Which lines of a matrix are centered: their mean becomes 0; and scaled: their standard deviation
 * becomes 1. If both are stated, they are the same. */
typedef struct dm_standard {
  dm_lines center, scale;
  bool fills; /* missing values become the mean of their line; if no lines are stated, column */
  bool center_by, scale_by; /* the lines are shifted by, and divided by, numbers of the user */
  bool weighted; /* elements are multiplied with the roots of the weights of the inner dimension */
} dm_standard;

static inline dm_lines dm_standard_lines(const dm_standard *standard) {
  if (standard->center != DM_NO_LINES) return standard->center;
  if (standard->scale != DM_NO_LINES) return standard->scale;
  return standard->fills ? DM_COLUMN_LINES : DM_NO_LINES;
}

/* Whether elements change, so that integers become f64. */
static inline bool dm_standard_changes(const dm_standard *standard) {
  return dm_standard_lines(standard) != DM_NO_LINES || standard->weighted;
}

/* Whether both ask for the same; numbers of the user are taken to differ. */
static inline bool dm_standard_is_same(const dm_standard *a, const dm_standard *b) {
  return a->center == b->center && a->scale == b->scale && a->fills == b->fills &&
         a->weighted == b->weighted && !a->center_by && !a->scale_by && !b->center_by &&
         !b->scale_by;
}

const char *dm_lines_name(dm_lines lines); /* "none", "columns", "rows" */

/* What is read in place of a centered value: 1 if it is not missing, else 0; or its square. */
typedef enum dm_role { DM_ROLE_VALUES, DM_ROLE_PRESENT, DM_ROLE_SQUARES } dm_role;

/* Element x of line i becomes (x - shift[i]) * factor[i]; first, a missing one, NaN, becomes
 * fill[i]. The arrays, two f64 for each number of a complex matrix but in FACTOR, follow the struct
 * in one block of memory. */
typedef struct dm_centering {
  dm_lines lines;
  dm_role role;
  int64_t count;
  int64_t parts;        /* numbers of an element */
  int64_t constant;     /* scaled lines with equal elements: they become NaN */
  int64_t empty;        /* lines without a value that is not missing: they become NaN */
  int64_t filled;       /* missing values */
  const double *shift;  /* NULL: 0 */
  const double *factor; /* NULL: 1 */
  const double *fill;   /* NULL: NaN stays */
  dm_lines weight_lines;
  const double *weight; /* of these lines, whatever the others are; NULL: 1 */
  uint64_t user_sum;    /* a checksum of the user's numbers; 0: there are none */
} dm_centering;

/* Whether line I is constant, or has no mean: all of its elements become NaN. */
bool dm_centering_is_nan(const dm_centering *centering, int64_t i);

/* VALUES, COUNT elements of one row of the matrix from (row, col) on, as f64 (two f64 each if
 * VALUES_ARE_COMPLEX). With TURNED, of one column. */
void dm_centering_apply(const dm_centering *centering, int64_t row, int64_t col, bool turned,
                        double *values, bool values_are_complex, int64_t count);

#endif
