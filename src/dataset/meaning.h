/* meaning: what the attributes of a dataset say about its stored numbers: packing, another sign,
 * missing values. Applied while elements are read. */
#ifndef DM_DATASET_MEANING_H
#define DM_DATASET_MEANING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/centering.h"
#include "core/view.h"

enum { DM_MISSING_VALUES = 16, DM_MISSING_TEXT = 64, DM_MEANING_TEXT = 400 };

/* What becomes of missing values. */
typedef enum dm_missing {
  DM_MISSING_REFUSED,
  DM_MISSING_NAN,
  DM_MISSING_ZERO,
  DM_MISSING_MEAN,     /* of their line: readers deliver NaN, which dm_centering replaces */
  DM_MISSING_PAIRWISE, /* left out of the sums of each pair of lines; the same */
  DM_MISSING_COMPLETE, /* left out with all of their observation; the same */
  DM_MISSING_END
} dm_missing;

const char *dm_missing_name(dm_missing missing); /* "refuse", "nan", ... */

/* Factors and shifts that differ along axes of a dataset: pair[2 * i] and pair[2 * i + 1] are those
 * of the elements with index i along AXIS and the next axes, AXES in all, counted in C order; EACH
 * indices in a row share a pair. */
typedef struct dm_slices {
  int64_t count; /* of pairs; 0: SCALE and OFFSET of the meaning are for all elements */
  int64_t each;
  int32_t axis, axes;
  int64_t at;         /* its first number among those of the composite that it is a source of */
  const double *pair; /* there; until there is a composite, dm_examine_at's own */
} dm_slices;

/* Which elements are missing: bit i % 64 of word i / 64 is that of element i, counted row by row.
 */
typedef struct dm_mask {
  int64_t words; /* 0: none is missing */
  int64_t at;    /* as in dm_slices */
  const uint64_t *bits;
} dm_mask;

static inline int64_t dm_mask_words(int64_t elements) {
  return elements / 64 + (elements % 64 > 0);
}

/* Plain data, but for SLICES and MASK; all zero: the stored numbers are the values. */
typedef struct dm_meaning {
  bool active;
  bool packed;     /* value = scale * number + offset, ... */
  bool shifted;    /* ... or scale * (number + offset) */
  bool other_sign; /* signed integers are meant as unsigned, or the reverse */
  bool nan;        /* NaN is missing */
  bool ranged;     /* numbers below LOW or above HIGH are missing */
  bool found;      /* stored numbers may mean "missing"; of a composite, those of a source */
  bool asked;      /* ... only the user does */
  dm_missing missing;
  dm_dtype type; /* of the values */
  double scale, offset, low, high;
  dm_slices slices;
  dm_mask mask;
  int count;
  double real[DM_MISSING_VALUES];      /* the numbers that mean "missing", ... */
  int64_t integers[DM_MISSING_VALUES]; /* ... and as integers of 64 bits */
  char text[DM_MEANING_TEXT];          /* for people, or "" */
  char warning[DM_MEANING_TEXT]; /* what stands beside the numbers and is not applied, or "" */
} dm_meaning;

/* The missing values met so far. Several threads may add. */
typedef struct dm_missed {
  _Atomic int64_t count, first; /* first: row * columns + column */
} dm_missed;

/* The type of numbers stored as DTYPE before they are unpacked. */
dm_dtype dm_meaning_number(const dm_meaning *meaning, dm_dtype dtype);

/* Whether MEANING points to numbers or bits that a composite must hold. */
static inline bool dm_meaning_points(const dm_meaning *meaning) {
  return meaning->slices.count > 0 || meaning->mask.words > 0;
}

/* Makes it point to WORDS, those of its composite. */
void dm_meaning_point(dm_meaning *meaning, const uint64_t *words);

/* Frees what it points to, if no composite holds that. */
void dm_meaning_free(dm_meaning *meaning);

/* Whether stored numbers are the values of their elements, unless they are missing. */
static inline bool dm_meaning_only_scans(const dm_meaning *meaning) {
  return !meaning->packed && !meaning->other_sign && meaning->mask.words == 0;
}

/* What the meaning says of single elements; NULL: nothing. */
typedef struct dm_singled {
  const double *pairs;   /* the factor and the shift of each */
  const uint8_t *masked; /* 1: it is missing, or 0 */
} dm_singled;

/* DST (f64, or c128, packed) = the values of STORED, a row, of which OF says more. Missing ones are
 * counted in MISSED, from 0 on, and replaced. */
void dm_meaning_apply(const dm_meaning *meaning, dm_view stored, dm_singled of, double *dst,
                      dm_missed *missed);

/* The same in place, for a PART that was read without conversion. */
void dm_meaning_scan(const dm_meaning *meaning, dm_view part, int64_t row, int64_t col,
                     int64_t cols, dm_missed *missed);

#endif
