#include "engine/dataset_input.h"

#include "core/buffer.h"
#include "file/composite.h"

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

static dm_status share(const dm_comm *world, int rank, dm_dataset *dataset) {
  int64_t bytes = dataset->composite ? dataset->composite->bytes : 0;
  dm_status status = DM_OK;
  DM_TRY(dm_comm_broadcast(world, &bytes, sizeof bytes, 0));
  if (bytes == 0) return DM_OK;
  if (rank > 0) {
    void *memory;
    status = dm_buffer_zeroed(bytes, 1, &memory);
    if (!status) dataset->composite = memory;
  }
  DM_TRY(dm_comm_agree(world, status));
  return dm_comm_broadcast(world, dataset->composite, bytes, 0);
}

dm_status dm_datasets_share(const dm_comm *world, int rank, dm_dataset *const *datasets,
                            int count) {
  for (int i = 0; i < count && rank > 0; i++) datasets[i]->composite = NULL; /* rank 0's address */
  for (int i = 0; i < count; i++) DM_TRY(share(world, rank, datasets[i]));
  return DM_OK;
}
