/* file_pass: reads all of op(A) or op(B) from its file once and passes it to a function. Nothing is
 * kept, and the ranks share the reading evenly, whatever the plan assigns to them.
 *
 * The file is read in pieces of at most dm_plan_pass_bytes, each some rows or whole chunks. One
 * piece is processed while the next one is read. */
#ifndef DM_ENGINE_FILE_PASS_H
#define DM_ENGINE_FILE_PASS_H

#include "engine/dataset_input.h"

/* Calls TAKE(CONTEXT, ...) with this rank's part of op(A) or op(B), in pieces in host memory that
 * count as panel 0. */
dm_status dm_file_pass(dm_dataset_input *input, dm_rank_state *local, dm_matrix matrix,
                       dm_piece_taker *take, void *context);

/* Whether every piece holds whole rows of op(A), or whole columns of op(B). */
bool dm_file_pass_has_lines(const dm_dataset_input *input, const dm_rank_state *local,
                            dm_matrix matrix);

#endif
