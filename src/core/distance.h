/* distance: of two lines, as a function of the sum of the squares of their differences. */
#ifndef DM_CORE_DISTANCE_H
#define DM_CORE_DISTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"

typedef enum dm_distance_kind {
  DM_NO_DISTANCE,
  DM_COSINE,      /* only an option: equations have a product of scaled lines instead */
  DM_EUCLIDEAN,   /* the root */
  DM_SQEUCLIDEAN, /* the sum itself */
  DM_RBF          /* exp(-GAMMA times the sum) */
} dm_distance_kind;

typedef struct dm_line_distance {
  dm_distance_kind kind;
  double gamma;
} dm_line_distance;

double dm_distance_of(const dm_line_distance *distance, double squares);

/* The absolute error of a distance whose sum of SQUARES has the relative error RELATIVE, without
 * the rounding to C's type. */
double dm_distance_error(const dm_line_distance *distance, double squares, double relative);

/* As options and attributes have it: "euclidean", "rbf:0.5". */
enum { DM_DISTANCE_TEXT = 40 };
const char *dm_distance_text(const dm_line_distance *distance, char text[DM_DISTANCE_TEXT]);

/* Below this part of the squares of both lines a sum that follows from their product has lost too
 * many digits: it is taken again from differences. */
#define DM_DISTANCE_LEAST_PART 0x1p-20

/* The largest relative difference between SQUARES, a sum of K terms, and the same sum taken from
 * differences. The latter has an error of (k + 4) u; so has SQUARES of a close pair, and others,
 * which follow from products of centered lines, (2 k + 16) u of BOTH, the squares of both lines
 * together. */
double dm_distance_roundoff(int64_t k, double squares, double both);

/* PRODUCTS, those of a line whose square is OWN with COUNT others with the squares OTHERS, become
 * sums of squares of differences; those to be taken again become -1. Returns how many these are. */
int64_t dm_distance_squares(double *products, double own, const double *others, int64_t count);

/* The sum of the squares of the differences of two lines. */
double dm_distance_between(const double *x, const double *y, int64_t count);

/* SQUARES become distances, as TYPE has them. */
void dm_distance_finish(const dm_line_distance *distance, dm_dtype type, double *squares,
                        int64_t count);

#endif
