#include "core/centering.h"

#include <math.h>
#include <stddef.h>

const char *dm_lines_name(dm_lines lines) {
  return lines == DM_COLUMN_LINES ? "columns" : lines == DM_ROW_LINES ? "rows" : "none";
}

/* All of these process COUNT values of PARTS numbers each, along which the line changes (STEP 1) or
 * not (0). They are what reading a centered matrix takes: the loops are simple enough for vectors.
 */

static void centering_fill(const double *mean, int64_t step, double *values, int64_t parts,
                           int64_t count) {
  if (parts == 1 && step == 1) {
    for (int64_t i = 0; i < count; i++) values[i] = values[i] == values[i] ? values[i] : mean[i];
  } else if (parts == 1) {
    for (int64_t i = 0; i < count; i++) values[i] = values[i] == values[i] ? values[i] : mean[0];
  } else {
    for (int64_t i = 0; i < count; i++) {
      if (values[2 * i] == values[2 * i] && values[2 * i + 1] == values[2 * i + 1]) continue;
      values[2 * i] = mean[2 * i * step];
      values[2 * i + 1] = mean[2 * i * step + 1];
    }
  }
}

static void centering_subtract(const double *shift, int64_t step, double *values, int64_t parts,
                               int64_t count) {
  if (step == 1) {
    for (int64_t i = 0; i < parts * count; i++) values[i] -= shift[i];
  } else if (parts == 1) {
    const double by = shift[0];
    for (int64_t i = 0; i < count; i++) values[i] -= by;
  } else {
    for (int64_t i = 0; i < 2 * count; i++) values[i] -= shift[i & 1];
  }
}

static void centering_multiply(const double *factor, int64_t step, double *values, int64_t parts,
                               int64_t count) {
  if (step == 0) {
    const double by = factor[0];
    for (int64_t i = 0; i < parts * count; i++) values[i] *= by;
  } else if (parts == 1) {
    for (int64_t i = 0; i < count; i++) values[i] *= factor[i];
  } else {
    for (int64_t i = 0; i < 2 * count; i++) values[i] *= factor[i >> 1];
  }
}

/* The same for weights: what is left out becomes 0 even if it is NaN or Inf. */
static void centering_weigh(const double *weight, int64_t step, double *values, int64_t parts,
                            int64_t count) {
  for (int64_t i = 0; i < parts * count; i++) {
    const double by = weight[i / parts * step];
    values[i] = by < 0.0 ? 0.0 : values[i] * by;
  }
}

static void weigh_all(const dm_centering *c, int64_t row, int64_t col, bool turned, double *values,
                      int64_t parts, int64_t count) {
  const bool rows = c->weight_lines == DM_ROW_LINES;
  if (c->weight)
    centering_weigh(c->weight + (rows ? row : col), rows == turned, values, parts, count);
}

bool dm_centering_is_nan(const dm_centering *c, int64_t i) {
  if (c->role == DM_ROLE_PRESENT) return false;
  return (c->shift && isnan(c->shift[i * c->parts])) || (c->factor && isnan(c->factor[i]));
}

void dm_centering_apply(const dm_centering *c, int64_t row, int64_t col, bool turned,
                        double *values, bool values_are_complex, int64_t count) {
  const int64_t line = c->lines == DM_ROW_LINES ? row : col, parts = values_are_complex ? 2 : 1;
  const int64_t step = (c->lines == DM_ROW_LINES) == turned; /* along the values, lines change */
  if (c->role == DM_ROLE_PRESENT) {
    for (int64_t i = 0; i < parts * count; i++) values[i] = values[i] == values[i] ? 1.0 : 0.0;
    weigh_all(c, row, col, turned, values, parts, count);
    return;
  }
  if (c->power) centering_multiply(c->power + line, step, values, parts, count);
  if (c->fill) centering_fill(c->fill + line * parts, step, values, parts, count);
  if (c->shift) centering_subtract(c->shift + line * parts, step, values, parts, count);
  if (c->factor) centering_multiply(c->factor + line, step, values, parts, count);
  weigh_all(c, row, col, turned, values, parts, count);
  for (int64_t i = 0; c->role == DM_ROLE_SQUARES && i < parts * count; i++) values[i] *= values[i];
}
