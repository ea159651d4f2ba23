#include "core/element.h"

#include "core/checked.h"
#include "core/copy.h"

enum { ELEMENT_CHUNK = 256 };

static const char *const element_names[] = {
    [DM_UNIFORM] = "uniform",   [DM_NORMAL] = "normal",   [DM_OZAKI] = "ozaki",
    [DM_IDENTITY] = "identity", [DM_INTEGER] = "integer", [DM_CONSTANT] = "constant",
    [DM_HILBERT] = "hilbert",   [DM_LEVEL] = "level",
};

const char *dm_kind_name(dm_kind kind) {
  return element_names[kind];
}

void dm_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col) {
  const int parts = dm_dtype_is_complex(view.dtype) ? 2 : 1;
  double wide[2 * ELEMENT_CHUNK];
  for (int64_t i = 0; i < view.rows; i++) {
    for (int64_t first = 0; first < view.cols; first += ELEMENT_CHUNK) {
      int64_t count = dm_min(ELEMENT_CHUNK, view.cols - first);
      for (int64_t j = 0; j < count; j++)
        for (int part = 0; part < parts; part++)
          wide[j * parts + part] = dm_element(generator, row + i, col + first + j, part);
      dm_store_wide(dm_view_at(view, i, first), view.dtype, view.col_stride, wide, count);
    }
  }
}
