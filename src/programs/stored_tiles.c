#include "programs/stored_tiles.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"

enum { BAND = 64 }; /* rows that a thread copies at a time */

static dm_status stored_begin(dm_stored_tiles *s, const dm_multiply *m,
                              const dm_output_file *earlier) {
  if (s->to_memory)
    return dm_comm_agree(s->run->world, dm_output_open_memory(m->seen_c, &s->output));
  dm_status status = dm_output_form_complete(&s->file.form, s->dtype, s->file.rows, s->file.cols);
  DM_TRY(dm_comm_agree(s->run->world, status));
  status = earlier ? dm_rows_file_take_up(s->run, &s->file, earlier, &s->making, &s->taken)
                   : dm_rows_file_begin(s->run, &s->file, &s->making);
  s->output = s->making.output;
  return status;
}

dm_status dm_stored_tiles_open(dm_run *run, const dm_multiply *m, const dm_stored_matrix *c,
                               dm_stored_tiles *s) {
  *s = (dm_stored_tiles){.run = run,
                         .to_memory = m->seen_c.base != NULL,
                         .making = {.file = {.made = -1}},
                         .dtype = c->dtype,
                         .file = {.out = m->out,
                                  .rows = c->rows,
                                  .cols = c->cols,
                                  .dtype = c->dtype,
                                  .form = m->form,
                                  .io_threads = m->engine.io_threads,
                                  .write_by = m->engine.write_by,
                                  .force = m->force,
                                  .describe = c->describe,
                                  .context = c->context}};
  DM_TRY(stored_begin(s, m, c->earlier));
  dm_status status =
      dm_file_queue_open(dm_run_io_threads(run, m->engine.io_threads), 0, &s->behind);
  if (!status) status = dm_buffer_alloc(dm_max(1, c->room) * dm_dtype_size(c->dtype), &s->packed);
  return dm_comm_agree(run->world, status);
}

/* A copy, in bands of rows. */
typedef struct stored_tiles_packing {
  dm_view to, from;
} stored_tiles_packing;

static dm_status stored_copy_band(void *context, int64_t band) {
  const stored_tiles_packing *p = context;
  const int64_t first = band * BAND, rows = dm_min(BAND, p->to.rows - first);
  dm_copy(dm_view_sub(p->to, first, 0, rows, p->to.cols),
          dm_view_sub(p->from, first, 0, rows, p->to.cols), false);
  return DM_OK;
}

dm_status dm_stored_tiles_add(dm_stored_tiles *s, dm_view part, bool turned, int64_t row,
                              int64_t col) {
  dm_transfer *writing;
  stored_tiles_packing p = {.from = turned ? dm_view_transpose(part) : part};
  p.to = p.from;
  if (dm_view_is_empty(part)) return DM_OK;
  if (turned || s->dtype != part.dtype) {
    p.to = dm_view_row_major(s->packed, s->dtype, p.from.rows, p.from.cols);
    DM_TRY(dm_fork_each(dm_ceil_div(p.to.rows, BAND), s->run->cores.threads, stored_copy_band, &p));
  }
  DM_TRY(dm_file_queue_write(s->behind, s->output, row, col, p.to, (dm_prepare){.rows = NULL},
                             &writing));
  return dm_transfer_wait(writing, &s->run->keepalive);
}

static dm_status stored_sync(void *context, const dm_keepalive *keepalive) {
  return dm_output_sync(((dm_stored_tiles *)context)->output, keepalive);
}

dm_status dm_stored_tiles_sync(dm_stored_tiles *s) {
  return dm_comm_agree(s->run->world, dm_watch_work(s->run->watch, stored_sync, s));
}

dm_status dm_stored_tiles_close(dm_stored_tiles *s, bool stays, dm_status status) {
  dm_file_queue_close(s->behind);
  free(s->packed);
  s->behind = NULL;
  s->packed = NULL;
  s->making.stays = stays;
  if (s->to_memory) return dm_status_first(status, dm_output_close(s->output));
  return dm_rows_file_end(s->run, &s->file, &s->making, status);
}
