#include "io/write_behind.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "io/pool.h"

enum { PIECE = 1 << 20 }; /* bytes that a thread writes at a time */

static const double patience = 0.25; /* seconds between two looks */

/* Some rows that one thread writes. */
typedef struct part {
  dm_pool_task task; /* first */
  dm_writing *writing;
  int64_t first; /* among the rows of the writing's view */
  dm_view view;
} part;

struct dm_writing {
  dm_write_behind *behind;
  dm_writing *previous, *next;
  int64_t row, col; /* in C */
  dm_prepare prepare;
  part *parts;
  int64_t left; /* parts that are not written yet; guarded by the pool's lock */
};

struct dm_write_behind {
  dm_output *output;
  dm_pool *pool;
  dm_writing *first;
  int64_t moved;
};

dm_status dm_write_behind_open(dm_output *output, int threads, dm_write_behind **behind) {
  void *new;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_write_behind), &new));
  *behind = new;
  (*behind)->output = output;
  dm_status status = dm_pool_open(threads, INT64_MAX, &(*behind)->pool);
  if (status) {
    free(new);
    *behind = NULL;
  }
  return status;
}

static void forget(dm_writing *writing) {
  *(writing->previous ? &writing->previous->next : &writing->behind->first) = writing->next;
  if (writing->next) writing->next->previous = writing->previous;
  free(writing->parts);
  free(writing);
}

void dm_write_behind_close(dm_write_behind *behind) {
  if (!behind) return;
  dm_pool_close(behind->pool);
  while (behind->first) forget(behind->first);
  free(behind);
}

static dm_status run(dm_pool_task *task, dm_scratch *scratch) {
  (void)scratch;
  part *p = (part *)task;
  const dm_writing *w = p->writing;
  dm_write_behind *behind = w->behind;
  if (w->prepare.rows) DM_TRY(w->prepare.rows(w->prepare.context, p->first, p->view.rows));
  DM_TRY(dm_output_write(behind->output, w->row + p->first, w->col, p->view));
  dm_pool_lock(behind->pool);
  behind->moved += p->view.rows * p->view.cols * dm_dtype_size(p->view.dtype);
  p->writing->left--; /* may be gone from now on */
  dm_pool_unlock(behind->pool);
  return DM_OK;
}

static dm_status post(dm_writing *writing, dm_view view) {
  void *memory;
  if (dm_view_is_empty(view)) return DM_OK;
  int64_t height = dm_max(1, PIECE / (view.cols * dm_dtype_size(view.dtype)));
  int64_t count = dm_ceil_div(view.rows, height);
  DM_TRY(dm_buffer_zeroed(count, sizeof(part), &memory));
  writing->parts = memory;
  writing->left = count;
  for (int64_t i = 0; i < count; i++) {
    int64_t rows = dm_min(height, view.rows - i * height);
    writing->parts[i] = (part){.task = {.run = run},
                               .writing = writing,
                               .first = i * height,
                               .view = dm_view_sub(view, i * height, 0, rows, view.cols)};
    dm_pool_post(writing->behind->pool, &writing->parts[i].task);
  }
  return DM_OK;
}

dm_status dm_write_behind_post(dm_write_behind *behind, int64_t row, int64_t col, dm_view view,
                               dm_prepare prepare, dm_writing **writing) {
  void *memory;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_writing), &memory));
  dm_writing *new = *writing = memory;
  *new = (dm_writing){
      .behind = behind, .next = behind->first, .row = row, .col = col, .prepare = prepare};
  if (behind->first) behind->first->previous = new;
  behind->first = new;
  return post(new, view);
}

static int64_t left_of(dm_writing *writing) {
  dm_pool_lock(writing->behind->pool);
  int64_t left = writing->left;
  dm_pool_unlock(writing->behind->pool);
  return left;
}

dm_status dm_writing_test(dm_writing *writing, bool *done) {
  *done = false;
  if (left_of(writing) > 0) dm_pool_help(writing->behind->pool);
  DM_TRY(dm_pool_error(writing->behind->pool));
  *done = left_of(writing) == 0;
  if (*done) forget(writing);
  return DM_OK;
}

dm_status dm_writing_wait(dm_writing *writing, const dm_keepalive *keepalive) {
  dm_write_behind *behind = writing->behind;
  int64_t moved = dm_write_behind_moved(behind);
  for (bool done = false;;) {
    DM_TRY(dm_writing_test(writing, &done));
    int64_t now = dm_write_behind_moved(behind);
    if (now != moved) DM_TRY(dm_keepalive_beat(keepalive));
    moved = now;
    if (done) return DM_OK;
    dm_pool_lock(behind->pool);
    if (writing->left > 0) dm_pool_wait(behind->pool, patience);
    dm_pool_unlock(behind->pool);
  }
}

int64_t dm_write_behind_moved(dm_write_behind *behind) {
  dm_pool_lock(behind->pool);
  int64_t moved = behind->moved;
  dm_pool_unlock(behind->pool);
  return moved;
}
