#include "engine/load.h"

dm_status dm_load_part(dm_source *source, int64_t row, int64_t col, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (source->op == DM_OP_N) return dm_reader_read(source->reader, row, col, &view, 1, false);
  dm_view transposed = dm_view_transpose(view);
  return dm_reader_read(source->reader, col, row, &transposed, 1, source->op == DM_OP_C);
}

void dm_source_note(dm_source *source, dm_view view) {
  if (view.dtype != DM_I8) return;
  int largest = 0;
  for (int64_t i = 0; i < view.rows; i++) {
    const int8_t *row = dm_view_at(view, i, 0);
    for (int64_t j = 0; j < view.cols; j++) {
      int magnitude = row[j] < 0 ? -row[j] : row[j];
      if (magnitude > largest) largest = magnitude;
    }
  }
  if (largest > source->largest) source->largest = largest;
}
