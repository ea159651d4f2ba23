#include "engine/inflow.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "plan/runs.h"
#include "plan/tiles.h"

static dm_status landings_open(dm_inflow *inflow, dm_matrix matrix) {
  void *memory;
  const dm_task *task = inflow->task;
  const int64_t layer = dm_range_size(task->panels);
  inflow->places[matrix] = dm_plan_places(task->plan, matrix, layer);
  DM_TRY(dm_buffer_zeroed(dm_max(1, inflow->places[matrix]), sizeof(dm_landing), &memory));
  inflow->landings[matrix] = memory;
  return DM_OK;
}

dm_status dm_inflow_open(dm_task *task, dm_source sources[2], dm_inflow *inflow) {
  *inflow = (dm_inflow){.task = task, .sources = sources};
  inflow->last = &inflow->next;
  if (task->place.idle) return DM_OK;
  DM_TRY(landings_open(inflow, DM_A));
  DM_TRY(landings_open(inflow, DM_B));
  return dm_stage_in_open(task, sources, &inflow->stage);
}

void dm_inflow_close(dm_inflow *inflow) {
  for (int x = 0; x < 2 && inflow->landings[x]; x++) {
    for (int64_t i = 0; i < inflow->places[x]; i++) free(inflow->landings[x][i].passage);
    free(inflow->landings[x]);
  }
  dm_stage_in_close(inflow->stage);
}

static dm_landing *landing_of(dm_inflow *inflow, dm_matrix matrix, int64_t panel, int64_t *place) {
  const dm_task *task = inflow->task;
  *place = dm_plan_place_of(task->plan, matrix, dm_range_size(task->panels), task->tile,
                            panel - task->panels.begin);
  return &inflow->landings[matrix][*place];
}

static bool is_plain(const dm_inflow *inflow, dm_matrix matrix) {
  return inflow->sources[matrix].op == DM_OP_N;
}

static bool goes_to_device(const dm_inflow *inflow, dm_matrix matrix) {
  return dm_plan_residence(inflow->task->plan, matrix) == DM_IN_DEVICE;
}

/* ---- what is read together ---- */

/* This rank's part of k in PANEL. */
static dm_range depth_of(const dm_task *task, dm_matrix matrix, int64_t panel) {
  return matrix == DM_A ? dm_task_piece_cols(task, DM_A, panel)
                        : dm_task_piece_rows(task, DM_B, panel);
}

/* Panels from FIRST on, until MOST: where one stands beside the other in the file, not behind it.
 * Chunks have no runs to be joined, and, strip after strip, many panels would be many chunks. */
static int64_t count_together(const dm_inflow *inflow, dm_matrix matrix, int64_t first,
                              int64_t most) {
  const dm_task *task = inflow->task;
  const bool beside = (matrix == DM_A) == is_plain(inflow, matrix);
  const int64_t size = dm_dtype_size(task->plan->problem.work);
  const int64_t wanted = dm_plan_run_wanted(task->plan);
  int64_t count = 1;
  if (!beside || (inflow->sources[matrix].chunked && goes_to_device(inflow, matrix))) return 1;
  for (dm_range run = depth_of(task, matrix, first); first + count < most; count++) {
    const dm_range next = depth_of(task, matrix, first + count);
    if (dm_range_size(run) * size >= wanted || next.begin != run.end) break;
    run.end = next.end;
  }
  return count;
}

static dm_transit transit_of(const dm_inflow *inflow, dm_matrix matrix, int64_t first,
                             int64_t count) {
  const dm_task *task = inflow->task;
  const dm_range rows = dm_task_piece_rows(task, matrix, first);
  const dm_range cols = dm_task_piece_cols(task, matrix, first);
  const dm_range last = depth_of(task, matrix, first + count - 1);
  dm_range down = is_plain(inflow, matrix) ? rows : cols;
  dm_range across = is_plain(inflow, matrix) ? cols : rows;
  if (count > 1) across.end = last.end;
  return (dm_transit){.matrix = matrix,
                      .tile = task->tile,
                      .first = first,
                      .count = count,
                      .row = down.begin,
                      .col = across.begin,
                      .rows = dm_range_size(down),
                      .cols = dm_range_size(across)};
}

/* COUNT panels from FIRST on, behind all that were asked for before. */
static dm_status ask_for(dm_inflow *inflow, dm_matrix matrix, int64_t first, int64_t count) {
  int64_t head, place;
  dm_landing *landing = landing_of(inflow, matrix, first, &head);
  void *memory;
  landing->passage = NULL;
  for (int64_t q = 0; q < count; q++) landing_of(inflow, matrix, first + q, &place)->first = head;
  const dm_transit transit = transit_of(inflow, matrix, first, count);
  if (transit.rows == 0 || transit.cols == 0) return DM_OK;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_passage), &memory));
  dm_passage *passage = landing->passage = memory;
  passage->transit = transit;
  passage->to_device = goes_to_device(inflow, matrix);
  *inflow->last = passage;
  inflow->last = &passage->next;
  return DM_OK;
}

/* Whether MATRIX resides in memory, and the tile is the first that needs its band. */
static bool is_wanted(const dm_inflow *inflow, dm_matrix matrix) {
  const dm_plan *plan = inflow->task->plan;
  return dm_plan_residence(plan, matrix) != DM_IN_FILE &&
         dm_plan_is_first(plan, matrix, inflow->task->tile);
}

/* All panels of what resides, those of A and B by turns. */
static dm_status ask_for_bands(dm_inflow *inflow, dm_matrix asked) {
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
    DM_TRY(ask_for(inflow, matrix, next[matrix], count));
    next[matrix] += count;
  }
  return DM_OK;
}

/* ---- the way ---- */

/* Straight into the pieces. */
static dm_status read_to_host(dm_inflow *inflow, dm_passage *passage) {
  const dm_transit *t = &passage->transit;
  dm_source *source = &inflow->sources[t->matrix];
  dm_view *views;
  DM_TRY(dm_buffer_zeroed(t->count, sizeof *views, (void **)&views));
  dm_task_turn_to(inflow->task, t->tile);
  for (int64_t q = 0; q < t->count; q++) {
    const dm_view piece = dm_task_piece(inflow->task, t->matrix, t->first + q);
    views[q] = is_plain(inflow, t->matrix) ? piece : dm_view_transpose(piece);
  }
  dm_status status = dm_read_ahead_post(source->ahead, source->reader, t->row, t->col, views,
                                        t->count, source->op == DM_OP_C, &passage->reading);
  free(views);
  passage->begun = true;
  return status;
}

/* As far as there are buffers. */
static dm_status stage(dm_inflow *inflow, dm_passage *passage) {
  bool begun = true;
  while (begun && passage->transit.begun < passage->transit.rows)
    DM_TRY(dm_stage_in_begin(inflow->stage, &passage->transit, &begun));
  passage->begun = passage->transit.begun == passage->transit.rows;
  return DM_OK;
}

/* Begins what can be, in order. */
static dm_status move_on(dm_inflow *inflow) {
  if (inflow->stage) DM_TRY(dm_stage_in_poll(inflow->stage));
  while (inflow->next) {
    dm_passage *passage = inflow->next;
    DM_TRY(passage->to_device ? stage(inflow, passage) : read_to_host(inflow, passage));
    if (!passage->begun) return DM_OK;
    inflow->next = passage->next;
    if (!inflow->next) inflow->last = &inflow->next;
  }
  return DM_OK;
}

static dm_status move_on_and_return(dm_inflow *inflow) {
  const int64_t tile = inflow->task->tile;
  dm_status status = move_on(inflow);
  dm_task_turn_to(inflow->task, tile);
  return status;
}

static dm_status has_arrived(dm_passage *passage, bool *arrived) {
  *arrived = false;
  if (!passage->begun) return DM_OK;
  if (!passage->to_device) return dm_reading_test(passage->reading, arrived);
  *arrived = passage->transit.arrived == passage->transit.rows;
  return DM_OK;
}

dm_status dm_inflow_load(dm_inflow *inflow, dm_matrix matrix, int64_t panel) {
  dm_task *task = inflow->task;
  if (dm_plan_residence(task->plan, matrix) == DM_IN_FILE) {
    DM_TRY(ask_for(inflow, matrix, panel, 1));
  } else {
    if (panel != task->panels.begin) return DM_OK;
    const bool posted = inflow->posted[matrix];
    inflow->posted[matrix] = false;
    if (posted) return DM_OK;
    DM_TRY(ask_for_bands(inflow, matrix));
  }
  return move_on_and_return(inflow);
}

dm_status dm_inflow_loaded(dm_inflow *inflow, dm_matrix matrix, int64_t panel, bool *done) {
  dm_task *task = inflow->task;
  dm_source *source = &inflow->sources[matrix];
  int64_t place;
  DM_TRY(move_on_and_return(inflow));
  const dm_landing *landing = landing_of(inflow, matrix, panel, &place);
  dm_passage **passage = &inflow->landings[matrix][landing->first].passage;
  *done = true;
  if (*passage) {
    DM_TRY(has_arrived(*passage, done));
    if (*done) {
      free(*passage);
      *passage = NULL;
    }
    const int64_t moved = dm_read_ahead_moved(source->ahead);
    if (moved != inflow->moved) dm_watch_moved(task->run->watch);
    inflow->moved = moved;
  }
  if (*done && !goes_to_device(inflow, matrix))
    dm_source_note(source, dm_task_piece(task, matrix, panel));
  return DM_OK;
}
