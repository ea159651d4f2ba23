#include "engine/upload_staging.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"
#include "plan/runs.h"

enum { STRIPS = DM_BUFFER_STRIPS_UP };

typedef struct strip {
  enum { FREE, IS_READ, IS_COPIED } stage;
  dm_staged_part *staged;
  int64_t at, rows; /* of the staged's rows */
  char *memory;
  dm_transfer *reading;
  dm_event copied;
} strip;

struct dm_staging {
  dm_rank_state *local;
  dm_dataset_input *sources;
  int64_t bytes; /* bytes of a strip */
  strip strips[STRIPS];
};

static bool is_on_device(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_residence(local->plan, matrix) == DM_IN_DEVICE;
}

dm_status dm_staging_open(dm_rank_state *local, dm_dataset_input sources[2], dm_staging **stage) {
  *stage = NULL;
  bool needed = false;
  for (int x = 0; x < 2; x++) needed |= sources[x].reader && is_on_device(local, (dm_matrix)x);
  if (!needed) return DM_OK;
  void *memory;
  DM_TRY(dm_buffer_zeroed(1, sizeof **stage, &memory));
  dm_staging *s = *stage = memory;
  *s = (dm_staging){
      .local = local, .sources = sources, .bytes = local->memory.list.of[DM_BUFFER_UPLOAD].slot};
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_UPLOAD, &memory));
  for (int i = 0; i < STRIPS; i++)
    s->strips[i].memory = dm_rank_memory_slot(&local->memory, DM_BUFFER_UPLOAD, i);
  return DM_OK;
}

void dm_staging_close(dm_staging *stage) {
  free(stage);
}

/* STRIP's part of panel FIRST + Q, which follows OFFSET columns of the file: in the strip's memory,
 * oriented as products read it, and on the device. */
static void part_of(const dm_staging *stage, const strip *one, int64_t q, int64_t offset,
                    dm_view *here, dm_view *there) {
  const dm_staged_part *t = one->staged;
  const dm_view piece = dm_rank_piece(stage->local, t->matrix, t->first + q);
  if (stage->sources[t->matrix].op == DM_OP_N) {
    *there = dm_view_sub(piece, one->at, 0, one->rows, piece.cols);
    *here = dm_view_strided(one->memory + offset * dm_dtype_size(piece.dtype), piece.dtype, DM_HOST,
                            one->rows, piece.cols, t->cols);
  } else {
    *there = dm_view_sub(piece, 0, one->at, piece.rows, one->rows);
    *here = dm_view_row_major(one->memory + offset * one->rows * dm_dtype_size(piece.dtype),
                              piece.dtype, piece.rows, one->rows);
  }
}

static int64_t file_cols(const dm_staging *stage, const dm_staged_part *staged, dm_view part) {
  return stage->sources[staged->matrix].op == DM_OP_N ? part.cols : part.rows;
}

static dm_status read_strip(dm_staging *stage, strip *one) {
  const dm_staged_part *t = one->staged;
  dm_dataset_input *source = &stage->sources[t->matrix];
  dm_view *views, there;
  int64_t offset = 0;
  DM_TRY(dm_buffer_zeroed(t->count, sizeof *views, (void **)&views));
  for (int64_t q = 0; q < t->count; q++) {
    part_of(stage, one, q, offset, &views[q], &there);
    offset += file_cols(stage, t, views[q]);
    if (source->op != DM_OP_N) views[q] = dm_view_transpose(views[q]);
  }
  dm_status status = dm_file_queue_read(source->ahead, source->reader, t->row + one->at, t->col,
                                        views, t->count, source->op == DM_OP_C, &one->reading);
  free(views);
  return status;
}

/* Copies run in order: the last one's event covers all. */
static dm_status copy_strip(dm_staging *stage, strip *one) {
  const dm_staged_part *t = one->staged;
  dm_rank_state *local = stage->local;
  dm_view here, there;
  int64_t offset = 0;
  for (int64_t q = 0; q < t->count; q++) {
    dm_event event;
    part_of(stage, one, q, offset, &here, &there);
    offset += file_cols(stage, t, here);
    dm_dataset_input_note(&stage->sources[t->matrix], here);
    DM_TRY(dm_backend_copy(local->backend, there, here, &event));
    if (event) one->copied = event;
    local->phases.uploaded += here.rows * here.cols * dm_dtype_size(here.dtype);
  }
  return DM_OK;
}

dm_status dm_staging_begin(dm_staging *stage, dm_staged_part *staged, bool *begun) {
  strip *one = stage->strips;
  while (one < stage->strips + STRIPS && one->stage != FREE) one++;
  *begun = one < stage->strips + STRIPS;
  if (!*begun) return DM_OK;
  const int64_t row = staged->cols * dm_dtype_size(stage->local->plan->problem.work);
  one->staged = staged;
  one->at = staged->begun;
  one->rows = dm_min(dm_max(1, stage->bytes / row), staged->rows - staged->begun);
  one->stage = IS_READ;
  one->copied = 0;
  staged->begun += one->rows;
  dm_rank_turn_to(stage->local, staged->tile);
  return read_strip(stage, one);
}

static dm_status move_on(dm_staging *stage, strip *one) {
  bool done = false;
  if (one->stage == IS_READ) {
    DM_TRY(dm_transfer_test(one->reading, &done));
    if (!done) return DM_OK;
    dm_rank_turn_to(stage->local, one->staged->tile);
    DM_TRY(copy_strip(stage, one));
    one->stage = IS_COPIED;
  }
  if (one->stage == IS_COPIED) {
    DM_TRY(dm_backend_test(stage->local->backend, one->copied, &done));
    if (!done) return DM_OK;
    one->staged->arrived += one->rows;
    one->stage = FREE;
  }
  return DM_OK;
}

dm_status dm_staging_poll(dm_staging *stage) {
  for (int i = 0; i < STRIPS; i++) DM_TRY(move_on(stage, &stage->strips[i]));
  return DM_OK;
}
