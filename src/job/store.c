#include "job/store.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "job/finish.h"

enum { STRIP = 32 << 20 }; /* bytes of C handled at a time */

typedef struct storing {
  dm_task *task;
  dm_sink *sink;
  dm_view sums;     /* this rank's rows of C as sums of products, host or device */
  dm_range rows;    /* which rows of C those are */
  bool are_c;       /* they are C's elements already: nothing is left to finish */
  int64_t height;   /* rows of a strip */
  char *landing[2]; /* host memory for sums that come from the device */
  char *finished, *old;
} storing;

/* Where alpha is all that is left to do, the device does it, by the same arithmetic as dm_finish.
 */
static dm_status finish_on_device(storing *s) {
  const dm_problem *p = &s->task->plan->problem;
  const double *alpha = s->sink->alpha;
  s->are_c = dm_finish_is_identity(p->c, p->accumulator, p->reads_c, alpha);
  const bool real = p->c == DM_F32 || p->c == DM_F64;
  if (s->are_c || s->sums.space == DM_HOST || !real || p->c != p->accumulator || p->reads_c ||
      alpha[0] == 0.0) /* 0 times Inf is not 0, but dm_backend_add would not look */
    return DM_OK;
  s->are_c = true;
  return dm_backend_add(s->task->backend, s->sums, s->sums, s->sums, alpha[0], 0.0);
}

static dm_status strips_open(storing *s) {
  const dm_problem *p = &s->task->plan->problem;
  int64_t width = s->sums.cols;
  int64_t row = dm_max(1, width * dm_dtype_size(p->accumulator));
  s->height = dm_max(1, STRIP / row);
  s->height = dm_min(s->height, dm_max(1, s->sums.rows));
  for (int i = 0; i < 2 && s->sums.space == DM_DEVICE; i++)
    DM_TRY(dm_backend_alloc(s->task->backend, DM_HOST, s->height * row, (void **)&s->landing[i]));
  if (!s->are_c)
    DM_TRY(dm_buffer_alloc(s->height * width * dm_dtype_size(p->c), (void **)&s->finished));
  if (p->reads_c) {
    int64_t size = dm_dtype_size(dm_dtype_widest(p->work));
    DM_TRY(dm_buffer_alloc(s->height * width * size, (void **)&s->old));
  }
  return DM_OK;
}

static void strips_close(storing *s) {
  for (int i = 0; i < 2; i++) dm_backend_release(s->task->backend, DM_HOST, s->landing[i]);
  free(s->finished);
  free(s->old);
}

/* Starts the way of the strip at row AT into host memory; where it is there already, nothing moves.
 */
static dm_status fetch_strip(storing *s, int64_t at, int turn, dm_view *strip, dm_event *arrived) {
  *arrived = 0;
  *strip = (dm_view){0};
  if (at >= s->sums.rows) return DM_OK;
  int64_t rows = dm_min(s->height, s->sums.rows - at);
  dm_view part = dm_view_sub(s->sums, at, 0, rows, s->sums.cols);
  *strip = part;
  if (part.space == DM_HOST) return DM_OK;
  *strip = dm_view_row_major(s->landing[turn], part.dtype, rows, part.cols);
  return dm_backend_copy(s->task->backend, *strip, part, arrived);
}

static dm_status read_old(storing *s, int64_t row, int64_t rows, dm_view *old) {
  const dm_problem *p = &s->task->plan->problem;
  dm_dtype wide = dm_dtype_widest(p->work);
  *old = dm_view_row_major(s->old, wide, rows, s->sums.cols);
  DM_TRY(dm_reader_read(s->sink->old, row, s->task->cols.begin, old, 1, false));
  if (!s->sink->check) return DM_OK;
  return dm_freivalds_add_c0(s->sink->check, NULL, *old, row, s->task->cols.begin);
}

/* Finishes, checks and writes the strip whose first row is ROW of C. */
static dm_status put_strip(storing *s, dm_view strip, int64_t row) {
  const dm_problem *p = &s->task->plan->problem;
  const int64_t col = s->task->cols.begin;
  dm_view out = strip, old;
  if (s->finished) {
    out = dm_view_row_major(s->finished, p->c, strip.rows, strip.cols);
    if (p->reads_c) DM_TRY(read_old(s, row, strip.rows, &old));
    DM_TRY(dm_finish(out, strip, p->reads_c ? &old : NULL, s->sink->alpha, s->sink->beta));
  }
  if (s->sink->check) {
    double start = dm_now();
    DM_TRY(dm_freivalds_add_c(s->sink->check, NULL, out, row, col));
    s->task->phases.verify += dm_now() - start;
  }
  s->sink->written += out.rows * out.cols * dm_dtype_size(out.dtype);
  dm_checkpoint_add(s->sink->checkpoint, out, s->task->tile, row, col);
  return dm_output_write(s->sink->output, row, col, out);
}

static dm_status put_strips(storing *s) {
  dm_view strip[2];
  dm_event arrived[2];
  DM_TRY(fetch_strip(s, 0, 0, &strip[0], &arrived[0]));
  int turn = 0;
  for (int64_t at = 0; at < s->sums.rows; at += s->height, turn = !turn) {
    DM_TRY(fetch_strip(s, at + s->height, !turn, &strip[!turn], &arrived[!turn]));
    DM_TRY(dm_backend_wait(s->task->backend, arrived[turn]));
    DM_TRY(put_strip(s, strip[turn], s->rows.begin + at));
    dm_run_beat_late(s->task->run);
  }
  return DM_OK;
}

dm_status dm_store_block(dm_task *task, dm_sink *sink) {
  storing s = {.task = task, .sink = sink, .sums = task->c, .rows = task->rows};
  if (task->plan->pk > 1) {
    s.sums = task->c_sum;
    s.rows = dm_plan_c_share(task->plan, task->tile, task->place.i, task->place.l);
  }
  if (dm_view_is_empty(s.sums)) return DM_OK;
  dm_status status = finish_on_device(&s);
  if (!status) status = strips_open(&s);
  if (!status) status = put_strips(&s);
  strips_close(&s);
  return status;
}
