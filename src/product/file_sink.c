#include "product/file_sink.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/element_sum.h"
#include "core/pairs.h"
#include "engine/alpha_beta.h"
#include "engine/share_sums.h"
#include "plan/partition.h"
#include "product/memory_result.h"

/* Strips in progress: some are copied from the device while others are finished and written. */
enum { FILE_SINK_STRIPS = DM_BUFFER_STRIPS_OUT };

/* A strip in progress: it is copied from the device if needed; threads finish, check and write
 * it. */
typedef struct file_sink_strip {
  enum { DM_STRIP_FREE, DM_STRIP_LANDS, DM_STRIP_IS_WRITTEN } stage;
  int64_t row, col;       /* its place in C */
  dm_view computed;       /* the sums that it is made of: rows of the block, or columns */
  dm_view sums, old, out; /* as written */
  bool is_image;          /* SUMS are the mirror image of COMPUTED */
  dm_event arrived;
  dm_transfer *writing;
  atomic_uint_least64_t checksum;
  struct dm_storing *storing;
  char *downloaded, *finished, *before, *mirrored; /* buffers for sums, output, old C and the mirror
                                                   image, if needed */
} file_sink_strip;

/* Its buffers are kept from one store to the next. */
typedef struct dm_storing {
  dm_rank_state *local;
  dm_file_sink *sink;
  bool goes_on;
  dm_view sums;             /* this rank's sums that it computed, on host or device */
  int64_t tile;             /* tile of the sums, */
  int64_t row, col;         /* and its position in C */
  dm_range of_c;            /* this rank's rows of the tile */
  bool are_c;               /* SUMS are already C's elements: nothing to finish */
  int64_t height;           /* rows of a strip, or columns that it is the image of */
  int64_t next;             /* first row, or column, not started yet */
  bool mirrors, conjugates; /* the sums are stored twice; C is Hermitian */
  bool images;              /* the sums are stored; now their mirror images */
  file_sink_strip strips[FILE_SINK_STRIPS];
} storing;

/* If only alpha remains to be applied, the device does it, with the same arithmetic as
 * dm_apply_alpha_beta. */
static dm_status finish_on_device(storing *s) {
  const dm_problem *p = &s->local->plan->problem;
  const double *alpha = s->sink->alpha;
  s->are_c = dm_alpha_beta_is_identity(p->c, p->accumulator, p->reads_c, alpha) &&
             !dm_triangle_keeps_sums(s->local->plan);
  const bool real = p->c == DM_F32 || p->c == DM_F64;
  if (s->are_c || s->sums.space == DM_HOST || !real || p->c != p->accumulator || p->reads_c ||
      alpha[0] == 0.0) /* 0 times Inf must be NaN, but dm_backend_add skips a factor of 0 */
    return DM_OK;
  s->are_c = true;
  return dm_backend_add(s->local->backend, s->sums, s->sums, s->sums, alpha[0], 0.0);
}

/* Whether what is written gets a checksum: for the journal, or to be compared with the device's. */
static bool has_checksums(const dm_file_sink *sink) {
  return sink->checkpoint ? dm_checkpoint_sums(sink->checkpoint) : sink->device_sum != NULL;
}

/* Elements of C on a device are summed there, which is faster, and their checksum is compared with
 * that of the copy in host memory. */
static dm_status file_sink_open_sum(void *state, dm_rank_state *local) {
  dm_file_sink *sink = state;
  uint64_t zero = 0;
  void *sum;
  const bool wanted = sink->checkpoint ? dm_checkpoint_sums(sink->checkpoint) : true;
  if ((!sink->check && !sink->holds) || !wanted || sink->correlates != 0.0 || local->coords.idle ||
      dm_triangle_has_images(local->plan) || local->plan->problem.half != DM_BOTH_HALVES ||
      local->memory.list.of[DM_BUFFER_DEVICE_SUMS].where == DM_NOWHERE)
    return DM_OK;
  DM_TRY(dm_rank_memory_take(&local->memory, DM_BUFFER_DEVICE_SUMS, &sum));
  sink->device_sum = sum;
  return dm_device_sums_set(local->backend, sum, &zero, 1);
}

static bool is_summed_there(const storing *s) {
  return s->sink->device_sum && s->are_c && s->sums.space == DM_DEVICE;
}

static dm_status sum_there(const storing *s) {
  dm_backend *backend = s->local->backend;
  const dm_element_place place = {s->row, s->col, s->local->plan->problem.n};
  if (!is_summed_there(s)) return DM_OK;
  DM_TRY(dm_backend_checksum(backend, s->sums, place, true, s->sink->device_sum));
  if (!s->sink->check) return DM_OK;
  return dm_freivalds_add_c(s->sink->check, backend, s->sums, s->row, s->col);
}

/* Points the member of each strip at OFFSET to its part of the buffer. */
static dm_status file_sink_take(storing *s, dm_buffer_kind kind, size_t offset) {
  dm_rank_memory *memory = &s->local->memory;
  void *first;
  DM_TRY(dm_rank_memory_take(memory, kind, &first));
  for (int i = 0; i < FILE_SINK_STRIPS; i++)
    *(char **)((char *)&s->strips[i] + offset) = dm_rank_memory_slot(memory, kind, i);
  return DM_OK;
}

static dm_status file_sink_buffers_open(storing *s) {
  for (int i = 0; i < FILE_SINK_STRIPS; i++) s->strips[i].storing = s;
  if (s->sums.space == DM_DEVICE)
    DM_TRY(file_sink_take(s, DM_BUFFER_DOWNLOAD, offsetof(file_sink_strip, downloaded)));
  if (!s->are_c) DM_TRY(file_sink_take(s, DM_BUFFER_FINISHED, offsetof(file_sink_strip, finished)));
  if (dm_triangle_has_images(s->local->plan))
    DM_TRY(file_sink_take(s, DM_BUFFER_MIRRORED, offsetof(file_sink_strip, mirrored)));
  if (s->sink->old) DM_TRY(file_sink_take(s, DM_BUFFER_OLD, offsetof(file_sink_strip, before)));
  return DM_OK;
}

/* Those of ROWS, counted from the first row of S->of_c, that this rank computed. */
static void file_sink_find_sums(storing *s, dm_view all, dm_range rows) {
  const dm_rank_state *local = s->local;
  const dm_coords *at = &local->coords;
  const dm_extent part = dm_triangle_part(local->plan, s->tile, at->i, at->j);
  const int64_t begin = s->of_c.begin + rows.begin, end = s->of_c.begin + rows.end;
  s->row = dm_min(end, dm_max(begin, part.rows.begin));
  s->col = part.cols.begin;
  s->sums = dm_view_sub(all, s->row - s->of_c.begin, s->col - local->cols.begin,
                        dm_max(0, dm_min(end, part.rows.end) - s->row), dm_range_size(part.cols));
}

static dm_status file_sink_begin(dm_rank_state *local, dm_file_sink *sink, dm_range rows) {
  const dm_plan *plan = local->plan;
  const bool is_new = !sink->storing;
  dm_range of_c;
  const dm_view all = dm_rank_result(local, &of_c);
  if (is_new) DM_TRY(dm_buffer_table(1, &sink->storing));
  storing *s = sink->storing;
  s->mirrors = dm_triangle_has_image(plan, local->tile, local->coords.i, local->coords.j);
  s->conjugates = plan->problem.symmetry == DM_HERMITIAN;
  s->local = local;
  s->sink = sink;
  s->goes_on = true;
  s->tile = local->tile;
  s->of_c = of_c;
  file_sink_find_sums(s, all, rows);
  s->next = dm_view_is_empty(s->sums) ? s->sums.rows : 0;
  s->images = false;
  DM_TRY(finish_on_device(s));
  DM_TRY(sum_there(s));
  if (is_new) DM_TRY(file_sink_buffers_open(s));
  const int64_t longest = s->mirrors ? dm_max(all.rows, all.cols) : all.cols;
  s->height = dm_max(1, local->memory.list.stored / dm_max(1, longest));
  return DM_OK;
}

/* Whether all strips are started: of the sums, or of their images. */
static bool is_started(const storing *s) {
  return s->next >= (s->images ? s->sums.cols : s->sums.rows);
}

/* The sums that the next strip is made of. */
static dm_view next_rows_of(storing *s, file_sink_strip *one) {
  const int64_t first = s->next;
  s->next = dm_min(first + s->height, s->sums.rows);
  one->row = s->row + first;
  one->col = s->col;
  one->is_image = false;
  return dm_view_sub(s->sums, first, 0, s->next - first, s->sums.cols);
}

/* The same for a mirror image, which has columns of the sums as its rows. */
static dm_view next_cols_of(storing *s, file_sink_strip *one) {
  const int64_t first = s->next;
  s->next = dm_min(first + s->height, s->sums.cols);
  one->row = s->col + first;
  one->col = s->row;
  one->is_image = true;
  return dm_view_sub(s->sums, 0, first, s->sums.rows, s->next - first);
}

/* Starts copying the next strip to host memory; in host memory nothing moves. */
static dm_status file_sink_fetch(storing *s, file_sink_strip *one) {
  const dm_view part = s->images ? next_cols_of(s, one) : next_rows_of(s, one);
  one->stage = DM_STRIP_LANDS;
  one->computed = part;
  one->arrived = 0;
  if (part.space == DM_HOST) return DM_OK;
  one->computed = dm_view_row_major(one->downloaded, part.dtype, part.rows, part.cols);
  return dm_backend_copy(s->local->backend, one->computed, part, &one->arrived);
}

static dm_view some_rows(dm_view view, int64_t first, int64_t count) {
  return dm_view_sub(view, first, 0, count, view.cols);
}

/* What a thread does with COUNT rows of a strip from row FIRST before it writes them. Strips that
 * are written at the same time have no row in common. */
static dm_status file_sink_finish_rows(void *context, int64_t first, int64_t count) {
  file_sink_strip *one = context;
  const storing *s = one->storing;
  const dm_file_sink *sink = s->sink;
  const dm_problem *p = &s->local->plan->problem;
  const int64_t row = one->row + first;
  const dm_view out = some_rows(one->out, first, count), sums = some_rows(one->sums, first, count);
  dm_view old;
  if (one->is_image)
    dm_copy(sums, some_rows(dm_view_transpose(one->computed), first, count), s->conjugates);
  if (p->reads_c) {
    old = some_rows(one->old, first, count);
    if (sink->check && !sink->of_sums)
      DM_TRY(dm_freivalds_add_c0(sink->check, NULL, old, row, one->col));
  }
  if (one->finished)
    DM_TRY(dm_apply_alpha_beta(out, sums, p->reads_c ? &old : NULL, sink->alpha, sink->beta));
  if (sink->correlates != 0.0)
    dm_correlate(out, row, one->col, sink->correlates, p->symmetry != DM_NO_SYMMETRY);
  if (sink->check && !is_summed_there(s))
    DM_TRY(dm_freivalds_add_c(sink->check, NULL, sink->of_sums ? sums : out, row, one->col));
  if (p->half != DM_BOTH_HALVES) dm_clear_triangle(out, row, one->col, p->half == DM_UPPER_HALF);
  if (has_checksums(sink))
    atomic_fetch_add(&one->checksum, dm_checksum_view(out, row, one->col, p->n));
  return DM_OK;
}

/* The elements of C that ONE is made of, as they are written. */
static dm_view file_sink_sums_of(const file_sink_strip *one) {
  const dm_view part = one->computed;
  return one->is_image ? dm_view_row_major(one->mirrored, part.dtype, part.cols, part.rows) : part;
}

/* Passes a copied strip to the threads. */
static dm_status write_strip(storing *s, file_sink_strip *one) {
  const dm_problem *p = &s->local->plan->problem;
  one->stage = DM_STRIP_IS_WRITTEN;
  one->sums = file_sink_sums_of(one);
  const int64_t rows = one->sums.rows, cols = one->sums.cols;
  one->out = one->finished ? dm_view_row_major(one->finished, p->c, rows, cols) : one->sums;
  atomic_store(&one->checksum, 0);
  if (s->sink->old_tiles) {
    one->old =
        some_rows(dm_old_of_tile(s->local, s->sink->old_tiles), one->row - s->of_c.begin, rows);
  } else if (p->reads_c) {
    one->old = dm_view_row_major(one->before, dm_dtype_widest(p->work), rows, cols);
    DM_TRY(dm_reader_read(s->sink->old, one->row, one->col, &one->old, 1, false));
  }
  const dm_prepare prepare = {.rows = file_sink_finish_rows, .context = one};
  return dm_file_queue_write(s->sink->behind, s->sink->output, one->row, one->col, one->out,
                             prepare, &one->writing);
}

static dm_status file_sink_move_on(storing *s, file_sink_strip *one) {
  bool done = true;
  switch (one->stage) {
  case DM_STRIP_FREE:
    return is_started(s) ? DM_OK : file_sink_fetch(s, one);
  case DM_STRIP_LANDS:
    if (one->arrived) DM_TRY(dm_backend_test(s->local->backend, one->arrived, &done));
    if (!done) return DM_OK;
    one->arrived = 0;
    if (s->sink->checkpoint)
      DM_TRY(dm_checkpoint_has_space(s->sink->checkpoint, one->row + file_sink_sums_of(one).rows,
                                     &done));
    return done ? write_strip(s, one) : DM_OK;
  case DM_STRIP_IS_WRITTEN:
    DM_TRY(dm_transfer_test(one->writing, &done));
    if (!done) return DM_OK;
    if (s->sink->checkpoint)
      dm_checkpoint_add(s->sink->checkpoint,
                        one->is_image ? dm_triangle_twin(s->local->plan, s->tile) : s->tile,
                        atomic_load(&one->checksum));
    if (is_summed_there(s)) s->sink->landed += atomic_load(&one->checksum);
    s->sink->written += one->out.rows * one->out.cols * dm_dtype_size(one->out.dtype);
    one->stage = DM_STRIP_FREE;
    return DM_OK;
  }
  return DM_OK;
}

/* Whether the sums are stored; their images come after all of them. */
static bool is_done(storing *s) {
  bool done = is_started(s);
  for (int i = 0; i < FILE_SINK_STRIPS; i++) done &= s->strips[i].stage == DM_STRIP_FREE;
  if (!done || !s->mirrors || s->images || dm_view_is_empty(s->sums)) return done;
  s->images = true;
  s->next = 0;
  return false;
}

/* Progresses the storing of ROWS of this rank's sums in small steps: threads write meanwhile. The
 * sums must not change until they are written. */
static dm_status store_rows(dm_rank_state *local, dm_file_sink *sink, dm_range rows, bool *done) {
  *done = false;
  if (!sink->storing || !sink->storing->goes_on) return file_sink_begin(local, sink, rows);
  storing *s = sink->storing;
  const int64_t before = dm_file_queue_moved(sink->behind);
  for (int i = 0; i < FILE_SINK_STRIPS; i++) DM_TRY(file_sink_move_on(s, &s->strips[i]));
  if (dm_file_queue_moved(sink->behind) != before) dm_watch_moved(local->run->watch);
  *done = is_done(s);
  s->goes_on = !*done;
  /* Another tile may be computed there. */
  return *done && is_summed_there(s) ? dm_backend_settle(local->backend) : DM_OK;
}

static dm_status file_sink_store(void *state, dm_rank_state *local, dm_range rows, bool *done) {
  dm_file_sink *sink = state;
  const bool upwards = local->plan->problem.symmetry != DM_NO_SYMMETRY; /* strips */
  *done = sink->holds;
  if (sink->holds) return DM_OK;
  DM_TRY(store_rows(local, sink, rows, done));
  if (!*done || !sink->checkpoint ||
      (upwards ? rows.begin > 0 : rows.end < dm_range_size(dm_rank_sums(local))))
    return DM_OK;
  return dm_checkpoint_stored(sink->checkpoint, local->tile);
}

static dm_status file_sink_ready(void *state) {
  dm_checkpoint *checkpoint = ((dm_file_sink *)state)->checkpoint;
  return checkpoint ? dm_checkpoint_reserved(checkpoint, false) : DM_OK;
}

static dm_status file_sink_compare(dm_file_sink *sink) {
  uint64_t left = 0;
  if (!sink->device_sum || !sink->storing) return DM_OK;
  DM_TRY(dm_device_sums_get(sink->storing->local->backend, &left, sink->device_sum, 1));
  sink->differs = left + sink->landed != 0;
  return DM_OK;
}

static dm_status flush(dm_checkpoint *checkpoint) {
  if (!checkpoint) return DM_OK;
  DM_TRY(dm_checkpoint_reserved(checkpoint, true));
  return dm_checkpoint_flush(checkpoint, false);
}

static dm_status file_sink_settle(void *state) {
  dm_file_sink *sink = state;
  if (sink->holds) return DM_OK;
  dm_file_queue_close(sink->behind);
  sink->behind = NULL;
  dm_status status = flush(sink->checkpoint);
  status = dm_status_first(status, file_sink_compare(sink));
  status = dm_status_first(status, dm_output_close(sink->output));
  sink->output = NULL;
  if (sink->checkpoint) dm_checkpoint_watch(sink->checkpoint, NULL);
  return status;
}

dm_status dm_file_sink_hold(dm_file_sink *sink, dm_rank_state *local) {
  const dm_problem *p = &local->plan->problem;
  if (!sink->holds || local->coords.idle ||
      !dm_alpha_beta_is_identity(p->c, p->accumulator, p->reads_c, sink->alpha))
    return DM_OK;
  return file_sink_begin(local, sink, (dm_range){0, dm_range_size(dm_rank_sums(local))});
}

dm_status dm_file_sink_release(dm_file_sink *sink, dm_rank_state *local) {
  const dm_range rows = dm_rank_sums(local);
  bool done = local->coords.idle;
  sink->holds = false;
  while (!done) DM_TRY(file_sink_store(sink, local, (dm_range){0, dm_range_size(rows)}, &done));
  return file_sink_settle(sink);
}

static void close_storing(void *state, dm_rank_state *local) {
  dm_file_sink *sink = state;
  (void)local; /* the memory is LOCAL's */
  free(sink->storing);
  sink->storing = NULL;
}

const dm_sink_ops dm_sink_file = {.open = file_sink_open_sum,
                                  .ready = file_sink_ready,
                                  .store = file_sink_store,
                                  .settle = file_sink_settle,
                                  .close = close_storing};
