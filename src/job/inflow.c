#include "job/inflow.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/tiles.h"

enum { RUN = 1 << 17 }; /* bytes in the file that are worth a call: docs/results/read_strips.txt */

static dm_status landings_open(const dm_task *task, dm_matrix matrix, dm_landing **landings) {
  void *memory;
  const int64_t layer = dm_range_size(task->panels);
  const int64_t places = dm_plan_places(task->plan, matrix, layer);
  DM_TRY(dm_buffer_zeroed(dm_max(1, places), sizeof(dm_landing), &memory));
  *landings = memory;
  return DM_OK;
}

dm_status dm_inflow_open(dm_task *task, dm_source sources[2], dm_inflow *inflow) {
  *inflow = (dm_inflow){.task = task, .sources = sources};
  if (task->place.idle) return DM_OK;
  DM_TRY(landings_open(task, DM_A, &inflow->landings[DM_A]));
  return landings_open(task, DM_B, &inflow->landings[DM_B]);
}

void dm_inflow_close(dm_inflow *inflow) {
  free(inflow->landings[DM_A]);
  free(inflow->landings[DM_B]);
}

static dm_landing *landing_of(dm_inflow *inflow, dm_matrix matrix, int64_t panel, int64_t *place) {
  const dm_task *task = inflow->task;
  *place = dm_plan_place_of(task->plan, matrix, dm_range_size(task->panels), task->tile,
                            panel - task->panels.begin);
  return &inflow->landings[matrix][*place];
}

/* This rank's part of k in PANEL. */
static dm_range depth_of(const dm_task *task, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_task_piece_cols(task, DM_A, panel)
                        : dm_task_piece_rows(task, DM_B, panel);
}

/* Panels from FIRST on that are read together, until MOST: where one stands beside the other in the
 * file, not behind it. */
static int64_t count_together(const dm_inflow *inflow, dm_matrix matrix, int64_t first,
                              int64_t most) {
  const dm_task *task = inflow->task;
  const bool beside = (matrix == DM_A) == (inflow->sources[matrix].op == DM_OP_N);
  const int64_t size = dm_dtype_size(task->plan->problem.work);
  int64_t count = 1;
  if (!beside) return 1;
  for (dm_range run = depth_of(task, matrix, first); first + count < most; count++) {
    const dm_range next = depth_of(task, matrix, first + count);
    if (dm_range_size(run) * size >= RUN || next.begin != run.end) break;
    run.end = next.end;
  }
  return count;
}

/* COUNT panels from FIRST on: side by side in the file, of the same rows. */
static dm_status post(dm_inflow *inflow, dm_matrix matrix, int64_t first, int64_t count) {
  dm_task *task = inflow->task;
  dm_source *source = &inflow->sources[matrix];
  const int64_t row = dm_task_piece_rows(task, matrix, first).begin;
  const int64_t col = dm_task_piece_cols(task, matrix, first).begin;
  const bool plain = source->op == DM_OP_N;
  int64_t head, place;
  dm_landing *landing = landing_of(inflow, matrix, first, &head);
  dm_view *views;
  landing->reading = NULL;
  DM_TRY(dm_buffer_zeroed(count, sizeof *views, (void **)&views));
  for (int64_t q = 0; q < count; q++) {
    const dm_view piece = dm_task_piece(task, matrix, first + q);
    views[q] = plain ? piece : dm_view_transpose(piece);
    landing_of(inflow, matrix, first + q, &place)->first = head;
  }
  dm_status status = DM_OK;
  if (views[0].rows > 0 && views[0].cols > 0)
    status = dm_read_ahead_post(source->ahead, source->reader, plain ? row : col, plain ? col : row,
                                views, count, source->op == DM_OP_C, &landing->reading);
  free(views);
  return status;
}

/* Whether MATRIX resides in host memory, and the tile is the first that needs its band. */
static bool is_wanted(const dm_inflow *inflow, dm_matrix matrix) {
  const dm_plan *plan = inflow->task->plan;
  return dm_plan_residence(plan, matrix) == DM_IN_HOST &&
         dm_plan_is_first(plan, matrix, inflow->task->tile);
}

/* All panels of what resides, those of A and B by turns. */
static dm_status post_bands(dm_inflow *inflow, dm_matrix asked) {
  const dm_range panels = inflow->task->panels;
  int64_t next[2] = {panels.begin, panels.begin};
  bool wanted[2];
  for (int x = 0; x < 2; x++) {
    wanted[x] = is_wanted(inflow, (dm_matrix)x) && !inflow->posted[x];
    inflow->posted[x] = wanted[x] && x != (int)asked;
  }
  while ((wanted[DM_A] && next[DM_A] < panels.end) || (wanted[DM_B] && next[DM_B] < panels.end)) {
    const bool a_turn =
        wanted[DM_A] && next[DM_A] < panels.end && (!wanted[DM_B] || next[DM_A] <= next[DM_B]);
    const dm_matrix matrix = a_turn ? DM_A : DM_B;
    const int64_t count = count_together(inflow, matrix, next[matrix], panels.end);
    DM_TRY(post(inflow, matrix, next[matrix], count));
    next[matrix] += count;
  }
  return DM_OK;
}

dm_status dm_inflow_load(dm_inflow *inflow, dm_matrix matrix, int64_t panel) {
  dm_task *task = inflow->task;
  if (dm_plan_residence(task->plan, matrix) == DM_IN_FILE) return post(inflow, matrix, panel, 1);
  if (panel != task->panels.begin) return DM_OK;
  if (inflow->posted[matrix]) {
    inflow->posted[matrix] = false;
    return DM_OK;
  }
  return post_bands(inflow, matrix);
}

dm_status dm_inflow_loaded(dm_inflow *inflow, dm_matrix matrix, int64_t panel, bool *done) {
  dm_task *task = inflow->task;
  dm_source *source = &inflow->sources[matrix];
  int64_t place;
  const dm_landing *landing = landing_of(inflow, matrix, panel, &place);
  dm_landing *first = &inflow->landings[matrix][landing->first];
  *done = true;
  if (first->reading) {
    DM_TRY(dm_reading_test(first->reading, done));
    if (*done) first->reading = NULL;
    const int64_t moved = dm_read_ahead_moved(source->ahead);
    if (moved != inflow->moved) dm_watch_moved(task->run->watch);
    inflow->moved = moved;
  }
  if (*done) dm_source_note(source, dm_task_piece(task, matrix, panel));
  return DM_OK;
}
