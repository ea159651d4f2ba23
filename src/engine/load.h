/* load: where A and B come from.  Shares come by prefetch.h. */
#ifndef DM_ENGINE_LOAD_H
#define DM_ENGINE_LOAD_H

#include "engine/rank_state.h"
#include "io/file_queue.h"

typedef struct dm_source {
  dm_reader *reader;
  dm_file_queue *ahead; /* that READER leans on, or NULL */
  dm_op op;
  bool chunked;   /* the file is */
  double largest; /* magnitude seen, of i8 inputs: the sum of their products must fit i32 */
} dm_source;

/* Element (row, col) of op(X) up to the extent of VIEW. */
dm_status dm_load_part(dm_source *source, int64_t row, int64_t col, dm_view view);

/* Notes the largest magnitude of VIEW (host memory) where SOURCE has to know it. */
void dm_source_note(dm_source *source, dm_view view);

#endif
