#include "file/centering.h"

#include <stddef.h>

const char *dm_lines_name(dm_lines lines) {
  return lines == DM_COLUMN_LINES ? "columns" : lines == DM_ROW_LINES ? "rows" : "none";
}

/* Subtracts shifts from COUNT values of PARTS numbers each; STEP 0: all from the first shift. */
static void subtract(const double *shift, int64_t step, double *values, int64_t parts,
                     int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t p = 0; p < parts; p++) values[i * parts + p] -= shift[i * step * parts + p];
}

static void multiply(const double *factor, int64_t step, double *values, int64_t parts,
                     int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t p = 0; p < parts; p++) values[i * parts + p] *= factor[i * step];
}

void dm_centering_apply(const dm_centering *c, int64_t row, int64_t col, bool turned,
                        double *values, bool values_are_complex, int64_t count) {
  const int64_t line = c->lines == DM_ROW_LINES ? row : col, parts = values_are_complex ? 2 : 1;
  const int64_t step = (c->lines == DM_ROW_LINES) == turned; /* along the values, lines change */
  if (c->shift) subtract(c->shift + line * parts, step, values, parts, count);
  if (c->factor) multiply(c->factor + line, step, values, parts, count);
}
