/* dataset_input: a dataset that A or B is read from, by rectangles or all of it once. */
#ifndef DM_ENGINE_DATASET_INPUT_H
#define DM_ENGINE_DATASET_INPUT_H

#include "core/view.h"
#include "engine/rank_state.h"
#include "io/file_queue.h"
#include "io/read.h"
#include "plan/plan.h"
#include "run/run.h"

typedef struct dm_dataset_input {
  dm_reader *reader;
  dm_file_queue *ahead; /* read-ahead of READER, or NULL */
  dm_op op;
  bool chunked;   /* whether the file is chunked */
  bool integral;  /* integers that are read as f64 */
  double largest; /* largest magnitude read, of integers: sums of products must fit C */
} dm_dataset_input;

/* Reads op(X) from element (row, col) to the extent of VIEW. */
dm_status dm_dataset_input_read(dm_dataset_input *input, int64_t row, int64_t col, dm_view view);

/* Updates the largest magnitude from VIEW (host memory) if INPUT needs it. */
void dm_dataset_input_note(dm_dataset_input *input, dm_view view);

/* Collective, after rank 0's DATASETS were broadcast as plain data: sends what they point to. All
 * ranks call dm_dataset_free in the end, also after an error. */
dm_status dm_datasets_share(const dm_comm *world, int rank, dm_dataset *const *datasets, int count);

/* Reads all of op(A) or op(B) once. Nothing is kept, and the ranks share the reading evenly,
 * whatever the plan assigns to them: calls TAKE(CONTEXT, ...) with this rank's part, in pieces in
 * host memory that count as panel 0, of at most dm_plan_pass_bytes; one is processed while the next
 * one is read. */
dm_status dm_file_pass(dm_dataset_input *input, dm_rank_state *local, dm_matrix matrix,
                       dm_piece_taker *take, void *context);

/* Whether every piece holds whole rows of op(A), or whole columns of op(B). */
bool dm_file_pass_has_lines(const dm_dataset_input *input, const dm_rank_state *local,
                            dm_matrix matrix);

/* ---- passes a matrix in a file once, in runs of rows ---- */

/* Processes PART of a matrix, whose first element is (row, col), in host memory. */
typedef dm_status dm_part_taker(void *context, dm_view part, int64_t row, int64_t col);

/* How elements are read: op(X), rounded to AS (DM_DTYPE_NONE: not rounded), as elements of WORK. */
typedef struct dm_reading {
  dm_op op;
  dm_dtype as, work;
  int threads;               /* of this rank; negative: as many as help */
  int64_t strip;             /* bytes of a part in memory, of which there are two; 0: many */
  int groups;                /* no part has rows of two of so many groups (dm_split); 0: it may */
  dm_missing_found *missing; /* gets the missing values that are met; or NULL */
  int64_t *unpacked;         /* the chunks that were unpacked are added to it; or NULL */
} dm_reading;

/* Whether ranks that share a pass over DATASET divide its columns, not its rows: if it is
 * column-major, or its chunks are higher than wide, ranks with some of its rows would read and
 * unpack the same. Depends on the dataset alone. */
bool dm_file_divides_columns(const dm_dataset *dataset);

/* Part INDEX of PARTS of ALL rows, or columns, of such a division. */
dm_range dm_file_part(const dm_dataset *dataset, dm_range all, int64_t parts, int64_t index);

/* Passes columns COLS of ROWS of DATASET to TAKE, its first column as column 0. Parts, of whole
 * rows unless these are long or chunks high, are cut alike whatever the number of ranks. Each chunk
 * is unpacked once. */
dm_status dm_file_stream(dm_run *run, const dm_dataset *dataset, dm_range rows, dm_range cols,
                         const dm_reading *how, dm_part_taker *take, void *context);

#endif
