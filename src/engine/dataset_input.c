#include "engine/dataset_input.h"

dm_status dm_dataset_input_read(dm_dataset_input *input, int64_t row, int64_t col, dm_view view) {
  if (dm_view_is_empty(view)) return DM_OK;
  if (input->op == DM_OP_N) return dm_reader_read(input->reader, row, col, &view, 1, false);
  dm_view transposed = dm_view_transpose(view);
  return dm_reader_read(input->reader, col, row, &transposed, 1, input->op == DM_OP_C);
}

void dm_dataset_input_note(dm_dataset_input *input, dm_view view) {
  if (view.dtype != DM_I8) return;
  int largest = 0;
  for (int64_t i = 0; i < view.rows; i++) {
    const int8_t *row = dm_view_at(view, i, 0);
    for (int64_t j = 0; j < view.cols; j++) {
      int magnitude = row[j] < 0 ? -row[j] : row[j];
      if (magnitude > largest) largest = magnitude;
    }
  }
  if (largest > input->largest) input->largest = largest;
}
