/* fill: writes a generated matrix (element.h) into host memory. */
#ifndef DM_CORE_FILL_H
#define DM_CORE_FILL_H

#include "core/element.h"
#include "core/view.h"

/* VIEW(i, j) = element (row + i, col + j) of the generated matrix, rounded to VIEW's type. */
void dm_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col);

/* "uniform", "normal", ... */
const char *dm_kind_name(dm_kind kind);

#endif
