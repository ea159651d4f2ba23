#include "core/distance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/checked.h"
#include "core/copy.h"

double dm_distance_of(const dm_line_distance *distance, double squares) {
  if (distance->kind == DM_EUCLIDEAN) return sqrt(squares);
  return distance->kind == DM_RBF ? exp(-distance->gamma * squares) : squares;
}

double dm_distance_error(const dm_line_distance *distance, double squares, double relative) {
  const double value = dm_distance_of(distance, squares), u = 0x1p-53;
  if (distance->kind == DM_EUCLIDEAN) return value * (relative + 2.0 * u);
  if (distance->kind == DM_SQEUCLIDEAN) return value * (relative + 2.0 * u);
  const double power = distance->gamma * squares;
  return value * (expm1(fmin(700.0, power * (relative + 4.0 * u))) + 4.0 * u);
}

const char *dm_distance_text(const dm_line_distance *distance, char text[DM_DISTANCE_TEXT]) {
  static const char *const names[] = {"none", "cosine", "euclidean", "sqeuclidean", "rbf"};
  char number[32];
  snprintf(number, sizeof number, "%.15g", distance->gamma);
  if (strtod(number, NULL) != distance->gamma)
    snprintf(number, sizeof number, "%.17g", distance->gamma);
  snprintf(text, DM_DISTANCE_TEXT, "%s%s%s", names[distance->kind],
           distance->kind == DM_RBF ? ":" : "", distance->kind == DM_RBF ? number : "");
  return text;
}

double dm_distance_roundoff(int64_t k, double squares, double both) {
  const double u = 0x1p-53, terms = (double)k, own = (terms + 4.0) * u; /* of the other one */
  const bool close = !(squares > 0.9 * DM_DISTANCE_LEAST_PART * both) || !isfinite(both);
  return own + (close ? terms + 4.0 : (2.0 * terms + 16.0) * both / squares) * u;
}

/* ---- many ---- */

int64_t dm_distance_squares(double *products, double own, const double *others, int64_t count) {
  int64_t again = 0;
  for (int64_t j = 0; j < count; j++) {
    const double both = own + others[j], squares = both - 2.0 * products[j];
    const bool near = !(squares > DM_DISTANCE_LEAST_PART * both) & (both == both);
    products[j] = near ? -1.0 : squares;
    again += near;
  }
  return again;
}

double dm_distance_between(const double *x, const double *y, int64_t count) {
  double sum[8] = {0.0};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; l++) sum[l] += (x[i + l] - y[i + l]) * (x[i + l] - y[i + l]);
  for (; i < count; i++) sum[0] += (x[i] - y[i]) * (x[i] - y[i]);
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* Values that a result of TYPE has. */
static void distance_round(dm_dtype type, double *values, int64_t count) {
  enum { DISTANCE_PIECE = 256 };
  unsigned char rounded[DISTANCE_PIECE * sizeof(double)];
  if (type == DM_F64) return;
  for (int64_t i = 0; i < count; i += DISTANCE_PIECE) {
    const int64_t some = dm_min(DISTANCE_PIECE, count - i);
    dm_store_wide(rounded, type, 1, values + i, some);
    dm_load_wide(values + i, rounded, type, 1, some);
  }
}

void dm_distance_finish(const dm_line_distance *distance, dm_dtype type, double *squares,
                        int64_t count) {
  if (distance->kind == DM_EUCLIDEAN)
    for (int64_t i = 0; i < count; i++) squares[i] = sqrt(squares[i]);
  else if (distance->kind == DM_RBF)
    for (int64_t i = 0; i < count; i++) squares[i] = exp(-distance->gamma * squares[i]);
  distance_round(type, squares, count);
}
