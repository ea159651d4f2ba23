/* dataset_input: one of the datasets that A and B are read from. */
#ifndef DM_ENGINE_DATASET_INPUT_H
#define DM_ENGINE_DATASET_INPUT_H

#include "engine/rank_state.h"
#include "io/file_queue.h"

typedef struct dm_dataset_input {
  dm_reader *reader;
  dm_file_queue *ahead; /* that READER leans on, or NULL */
  dm_op op;
  bool chunked;   /* the file is */
  double largest; /* magnitude seen, of i8 inputs: the sum of their products must fit i32 */
} dm_dataset_input;

/* Element (row, col) of op(X) up to the extent of VIEW. */
dm_status dm_dataset_input_read(dm_dataset_input *input, int64_t row, int64_t col, dm_view view);

/* Notes the largest magnitude of VIEW (host memory) where INPUT has to know it. */
void dm_dataset_input_note(dm_dataset_input *input, dm_view view);

#endif
