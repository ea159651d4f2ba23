#include "product/rows_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/element_sum.h"
#include "io/file_queue.h"
#include "plan/partition.h"
#include "product/commit.h"

enum {
  ROWS_FILE_STRIPS = 2,
  ROWS_FILE_STRIP = 32 << 20
}; /* one is filled while the other is written */

typedef struct rows_file_strip {
  const dm_rows_file *of;
  int64_t row;
  dm_view view;
  void *memory;
  dm_transfer *writing;
} rows_file_strip;

/* Fills rows of a strip, in the thread that writes them. */
static dm_status fill_rows(void *context, int64_t first, int64_t count) {
  const rows_file_strip *one = context;
  const dm_rows_file *f = one->of;
  if (!f->fill) return DM_OK;
  return f->fill(f->context, dm_view_sub(one->view, first, 0, count, f->cols), one->row + first);
}

static dm_status rows_file_wait_for(dm_run *run, rows_file_strip *one) {
  if (!one->writing) return DM_OK;
  DM_TRY(dm_transfer_wait(one->writing, &run->keepalive));
  one->writing = NULL;
  return DM_OK;
}

/* Writes this rank's rows, HEIGHT at a time. */
static dm_status pass_rows(dm_run *run, const dm_rows_file *f, int64_t height,
                           rows_file_strip strips[ROWS_FILE_STRIPS], dm_rows_making *to,
                           dm_file_queue *behind) {
  const dm_range rows = dm_split(f->rows, run->ranks, run->rank, 1);
  int turn = 0;
  for (int64_t row = rows.begin; row < rows.end;
       row += height, turn = (turn + 1) % ROWS_FILE_STRIPS) {
    rows_file_strip *one = &strips[turn];
    DM_TRY(rows_file_wait_for(run, one));
    one->row = row;
    one->view = dm_view_row_major(one->memory, f->dtype, dm_min(height, rows.end - row), f->cols);
    if (f->bring) DM_TRY(f->bring(f->context, one->view, row));
    if (f->sums) to->checksum += dm_checksum_view(one->view, row, 0, f->cols);
    const dm_prepare prepare = {fill_rows, one};
    DM_TRY(dm_file_queue_write(behind, to->output, row, 0, one->view, prepare, &one->writing));
  }
  for (int i = 0; i < ROWS_FILE_STRIPS; i++) DM_TRY(rows_file_wait_for(run, &strips[i]));
  return DM_OK;
}

static dm_status write_rows(dm_run *run, const dm_rows_file *f, dm_rows_making *to) {
  rows_file_strip strips[ROWS_FILE_STRIPS] = {{.of = f}, {.of = f}};
  const int64_t most = dm_range_size(dm_split(f->rows, run->ranks, run->rank, 1));
  dm_file_queue *behind = NULL;
  int64_t row_bytes, strip_bytes;
  DM_TRY(dm_bytes_of(f->cols, 1, dm_dtype_size(f->dtype), &row_bytes));
  const int64_t bytes =
      f->strip_bytes > 0 ? dm_min(f->strip_bytes, ROWS_FILE_STRIP) : ROWS_FILE_STRIP;
  const int64_t height = dm_max(1, bytes / row_bytes);
  DM_TRY(dm_bytes_of(dm_min(height, dm_max(1, most)), 1, row_bytes, &strip_bytes));
  dm_status status = DM_OK;
  for (int i = 0; i < ROWS_FILE_STRIPS && !status; i++)
    status = dm_buffer_alloc(strip_bytes, &strips[i].memory);
  if (!status) status = dm_file_queue_open(dm_run_io_threads(run, f->io_threads), 0, &behind);
  if (!status) status = pass_rows(run, f, height, strips, to, behind);
  dm_file_queue_close(behind);
  for (int i = 0; i < ROWS_FILE_STRIPS; i++) free(strips[i].memory);
  return status;
}

static dm_status rows_file_commit(dm_run *run, const dm_rows_file *f, const dm_output_file *file,
                                  uint64_t checksum) {
  const dm_tile_record whole = {.rows = f->rows, .cols = f->cols, .checksum = checksum};
  if (run->rank != 0) return DM_OK;
  DM_FREED dm_attributes *attributes = NULL;
  bool named;
  DM_TRY(dm_buffer_table(1, &attributes));
  DM_TRY(f->describe(f->context, run, attributes));
  return dm_commit_file(run, file, &f->form, f->io_threads,
                        &(dm_output_completion){.provenance = attributes,
                                                .tiles = &whole,
                                                .count = f->sums,
                                                .unrecorded = true,
                                                .force = f->force,
                                                .clear = f->clear,
                                                .context = f->context},
                        &named);
}

/* The file of F, which is created, or taken up. */
typedef struct making {
  const dm_rows_file *rows;
  int writers;
  dm_rows_making *to;
  const dm_output_file *earlier; /* or NULL */
  bool taken;
} making;

/* Another file in its place is replaced, unless another run writes it. */
static void take_up_part(making *m) {
  const dm_rows_file *f = m->rows;
  dm_output_file *file = &m->to->file;
  *file = (dm_output_file){.at = f->out,
                           .rows = f->rows,
                           .cols = f->cols,
                           .leads = f->form.leads,
                           .dtype = f->dtype,
                           .made = -1};
  memcpy(file->id, m->earlier->id, DM_ID);
  dm_status status = dm_output_reopen(file, m->earlier->offset, &m->taken);
  if (status) m->taken = false;
  dm_status_free(status);
}

static dm_status rows_file_create(void *context, const dm_keepalive *keepalive) {
  making *m = context;
  const dm_rows_file *f = m->rows;
  (void)keepalive;
  dm_reservation *reservation = NULL;
  if (m->earlier) take_up_part(m);
  if (!m->taken)
    DM_TRY(dm_output_create_early(&f->out, f->dtype, f->rows, f->cols, &f->form.leads, &m->to->file,
                                  &reservation));
  m->to->created = true;
  DM_TRY(dm_reservation_end(reservation, true));
  DM_TRY(dm_output_choose_way(&m->to->file, f->write_by, m->writers));
  return dm_commit_room(&m->to->file, &f->form);
}

static dm_status begin_making(dm_run *run, making *one) {
  dm_rows_making *to = one->to;
  *to = (dm_rows_making){.file = {.made = -1}};
  dm_status status = run->rank == 0 ? dm_watch_work(run->watch, rows_file_create, one) : DM_OK;
  DM_TRY(dm_comm_agree(run->world, status));
  const int made = to->file.made;
  DM_TRY(dm_comm_broadcast(run->world, &to->file, sizeof to->file, 0));
  DM_TRY(dm_comm_broadcast(run->world, &one->taken, sizeof one->taken, 0));
  to->file.made = made;
  return dm_comm_agree(run->world, dm_output_open(&to->file, &to->output));
}

dm_status dm_rows_file_begin(dm_run *run, const dm_rows_file *f, dm_rows_making *to) {
  making one = {.rows = f, .writers = dm_run_writers(run, f->io_threads), .to = to};
  return begin_making(run, &one);
}

dm_status dm_rows_file_take_up(dm_run *run, const dm_rows_file *f, const dm_output_file *earlier,
                               dm_rows_making *to, bool *taken) {
  making one = {
      .rows = f, .writers = dm_run_writers(run, f->io_threads), .to = to, .earlier = earlier};
  DM_TRY(begin_making(run, &one));
  *taken = one.taken;
  return DM_OK;
}

static dm_status sync_part(void *context, const dm_keepalive *keepalive) {
  return dm_output_sync(((dm_rows_making *)context)->output, keepalive);
}

static dm_status rows_file_complete(dm_run *run, const dm_rows_file *f, dm_rows_making *to) {
  dm_status status = dm_watch_work(run->watch, sync_part, to);
  status = dm_status_first(status, dm_output_close(to->output));
  to->output = NULL;
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_sum_i64(run->world, (int64_t *)&to->checksum, 1)); /* modulo 2^64 */
  DM_TRY(dm_comm_agree(run->world, rows_file_commit(run, f, &to->file, to->checksum)));
  to->created = false;
  return DM_OK;
}

dm_status dm_rows_file_end(dm_run *run, const dm_rows_file *f, dm_rows_making *to,
                           dm_status status) {
  if (!status) status = rows_file_complete(run, f, to);
  status = dm_status_first(status, dm_output_close(to->output));
  if (to->created && !to->stays) dm_commit_give_up(run, &to->file, status);
  dm_output_release(&to->file);
  return status;
}

dm_status dm_rows_file_write(dm_run *run, const dm_rows_file *f) {
  dm_rows_making to;
  dm_status status = dm_rows_file_begin(run, f, &to);
  dm_run_phase(run, "writing", DM_SYNC_PATIENCE);
  if (!status) status = dm_comm_agree(run->world, write_rows(run, f, &to));
  return dm_rows_file_end(run, f, &to, status);
}
