#include "product/file_sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/element_sum.h"
#include "core/mirror.h"
#include "engine/finish.h"
#include "engine/share_sums.h"
#include "plan/triangle.h"
#include "product/memory_result.h"

/* Strips in progress: some are copied from the device while others are finished and written. */
enum { STRIPS = DM_BUFFER_STRIPS_OUT };

/* A strip in progress: it is copied from the device if needed; threads finish, check and write it,
 * and then, if C is symmetric, its mirror image. */
typedef struct strip {
  enum { DM_STRIP_FREE, DM_STRIP_LANDS, DM_STRIP_IS_WRITTEN, DM_STRIP_IS_MIRRORED } stage;
  int64_t at; /* its first row in the sums */
  dm_view sums, old, out;
  int64_t square; /* its last columns that are mirrored within it */
  dm_event arrived;
  dm_transfer *writing;
  atomic_uint_least64_t checksum;
  struct dm_storing *storing;
  char *landing, *finished, *before, *mirrored; /* buffers for sums, output, old C and the mirror
                                                   image, if needed */
} strip;

/* Its buffers are kept from one store to the next. */
typedef struct dm_storing {
  dm_rank_state *local;
  dm_file_sink *sink;
  bool goes_on;
  dm_view sums;             /* this rank's sums, on host or device */
  int64_t tile;             /* tile of the sums, */
  int64_t row, col;         /* and its position in C */
  dm_range of_c;            /* this rank's rows of the tile */
  bool are_c;               /* SUMS are already C's elements: nothing to finish */
  int64_t height;           /* rows of a strip */
  int64_t next;             /* first row not started yet */
  bool mirrors, conjugates; /* C is symmetric, and Hermitian */
  pthread_mutex_t checking; /* strips and mirror images share rows, which the check sums up */
  strip strips[STRIPS];
} storing;

/* If only alpha remains to be applied, the device does it, with the same arithmetic as
 * dm_finish. */
static dm_status finish_on_device(storing *s) {
  const dm_problem *p = &s->local->plan->problem;
  const double *alpha = s->sink->alpha;
  s->are_c = dm_finish_is_identity(p->c, p->accumulator, p->reads_c, alpha);
  const bool real = p->c == DM_F32 || p->c == DM_F64;
  if (s->are_c || s->sums.space == DM_HOST || !real || p->c != p->accumulator || p->reads_c ||
      alpha[0] == 0.0) /* 0 times Inf must be NaN, but dm_backend_add skips a factor of 0 */
    return DM_OK;
  s->are_c = true;
  return dm_backend_add(s->local->backend, s->sums, s->sums, s->sums, alpha[0], 0.0);
}

/* Elements of C on a device are summed there, which is faster, and their checksum is compared with
 * that of the copy in host memory. */
static dm_status open_sum(void *state, dm_rank_state *local) {
  dm_file_sink *sink = state;
  uint64_t zero = 0;
  void *sum;
  if (!sink->check || !dm_checkpoint_sums(sink->checkpoint) || local->coords.idle ||
      local->plan->problem.symmetry != DM_NO_SYMMETRY ||
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
  const dm_place place = {s->row, s->col, s->local->plan->problem.n};
  if (!is_summed_there(s)) return DM_OK;
  DM_TRY(dm_backend_checksum(backend, s->sums, place, true, s->sink->device_sum));
  return dm_freivalds_add_c(s->sink->check, backend, s->sums, s->row, s->col);
}

/* Points the member of each strip at OFFSET to its part of the buffer. */
static dm_status take(storing *s, dm_buffer_kind kind, size_t offset) {
  dm_rank_memory *memory = &s->local->memory;
  void *first;
  DM_TRY(dm_rank_memory_take(memory, kind, &first));
  for (int i = 0; i < STRIPS; i++)
    *(char **)((char *)&s->strips[i] + offset) = dm_rank_memory_slot(memory, kind, i);
  return DM_OK;
}

static dm_status buffers_open(storing *s) {
  for (int i = 0; i < STRIPS; i++) s->strips[i].storing = s;
  if (s->sums.space == DM_DEVICE) DM_TRY(take(s, DM_BUFFER_LANDING, offsetof(strip, landing)));
  if (!s->are_c) DM_TRY(take(s, DM_BUFFER_FINISHED, offsetof(strip, finished)));
  if (s->mirrors) DM_TRY(take(s, DM_BUFFER_MIRRORED, offsetof(strip, mirrored)));
  if (s->sink->old) DM_TRY(take(s, DM_BUFFER_OLD, offsetof(strip, before)));
  return DM_OK;
}

static dm_status begin(dm_rank_state *local, dm_file_sink *sink, dm_range rows) {
  const bool is_new = !sink->storing;
  dm_range of_c;
  const dm_view all = dm_rank_result(local, &of_c);
  if (is_new) DM_TRY(dm_buffer_table(1, &sink->storing));
  storing *s = sink->storing;
  if (is_new) pthread_mutex_init(&s->checking, NULL);
  s->mirrors = local->plan->problem.symmetry != DM_NO_SYMMETRY;
  s->conjugates = local->plan->problem.symmetry == DM_HERMITIAN;
  s->local = local;
  s->sink = sink;
  s->goes_on = true;
  s->sums = dm_view_sub(all, rows.begin, 0, dm_range_size(rows), all.cols);
  s->tile = local->tile;
  s->row = of_c.begin + rows.begin;
  s->of_c = of_c;
  s->col = local->cols.begin;
  s->next = dm_view_is_empty(s->sums) ? s->sums.rows : 0;
  DM_TRY(finish_on_device(s));
  DM_TRY(sum_there(s));
  if (is_new) DM_TRY(buffers_open(s));
  s->height = dm_max(1, local->memory.list.stored / dm_max(1, all.cols));
  return DM_OK;
}

/* The next strip: of a symmetric C, rows that have something to store. */
static dm_stripe next_rows(storing *s) {
  dm_stripe next = {{0, 0}, 0, 0};
  while (s->next < s->sums.rows && next.cols == 0) {
    const dm_range rows = {s->row + s->next, s->row + dm_min(s->sums.rows, s->next + s->height)};
    next = dm_triangle_stripe(&s->local->plan->problem, rows, s->local->cols, 0);
    if (next.cols == 0) s->next += dm_range_size(next.rows);
  }
  return next;
}

/* Starts copying the next strip to host memory; in host memory nothing moves. */
static dm_status fetch(storing *s, strip *one) {
  const dm_stripe next = next_rows(s);
  const int64_t rows = dm_range_size(next.rows);
  if (rows == 0 || next.cols == 0) return DM_OK;
  const dm_view part = dm_view_sub(s->sums, s->next, 0, rows, next.cols);
  one->stage = DM_STRIP_LANDS;
  one->at = s->next;
  one->sums = part;
  one->square = next.square;
  one->arrived = 0;
  s->next += rows;
  if (part.space == DM_HOST) return DM_OK;
  one->sums = dm_view_row_major(one->landing, part.dtype, rows, part.cols);
  return dm_backend_copy(s->local->backend, one->sums, part, &one->arrived);
}

static dm_view some_rows(dm_view view, int64_t first, int64_t count) {
  return dm_view_sub(view, first, 0, count, view.cols);
}

/* Adds rows of C to the check and to the strip's checksum. */
static dm_status add_rows(strip *one, dm_view out, int64_t row, int64_t col) {
  storing *s = one->storing;
  const dm_file_sink *sink = s->sink;
  dm_status status = DM_OK;
  if (s->mirrors) pthread_mutex_lock(&s->checking);
  if (sink->check && !is_summed_there(s))
    status = dm_freivalds_add_c(sink->check, NULL, out, row, col);
  if (s->mirrors) pthread_mutex_unlock(&s->checking);
  if (dm_checkpoint_sums(sink->checkpoint))
    atomic_fetch_add(&one->checksum, dm_checksum_view(out, row, col, s->local->plan->problem.n));
  return status;
}

/* What a thread does with COUNT rows of a strip from row FIRST before it writes them. */
static dm_status finish_rows(void *context, int64_t first, int64_t count) {
  strip *one = context;
  const storing *s = one->storing;
  const dm_file_sink *sink = s->sink;
  const dm_problem *p = &s->local->plan->problem;
  const int64_t row = s->row + one->at + first;
  const dm_view out = some_rows(one->out, first, count);
  dm_view old;
  if (p->reads_c) {
    old = some_rows(one->old, first, count);
    if (sink->check) DM_TRY(dm_freivalds_add_c0(sink->check, NULL, old, row, s->col));
  }
  if (one->finished)
    DM_TRY(dm_finish(out, some_rows(one->sums, first, count), p->reads_c ? &old : NULL, sink->alpha,
                     sink->beta));
  return add_rows(one, out, row, s->col);
}

/* The part of a written strip that has a mirror image elsewhere. */
static dm_view beside_square(const strip *one) {
  return dm_view_sub(one->out, 0, 0, one->out.rows, one->out.cols - one->square);
}

static dm_view mirror_of(const strip *one) {
  const dm_view part = beside_square(one);
  return dm_view_row_major(one->mirrored, part.dtype, part.cols, part.rows);
}

/* The same for COUNT rows of its mirror image. */
static dm_status mirror_rows(void *context, int64_t first, int64_t count) {
  strip *one = context;
  const storing *s = one->storing;
  const dm_view part = beside_square(one), out = some_rows(mirror_of(one), first, count);
  dm_copy(out, dm_view_transpose(dm_view_sub(part, 0, first, part.rows, count)), s->conjugates);
  return add_rows(one, out, s->col + first, s->row + one->at);
}

static dm_status write_mirrored(const storing *s, strip *one) {
  const dm_prepare prepare = {.rows = mirror_rows, .context = one};
  one->stage = DM_STRIP_IS_MIRRORED;
  return dm_file_queue_write(s->sink->behind, s->sink->output, s->col, s->row + one->at,
                             mirror_of(one), prepare, &one->writing);
}

/* Passes a copied strip to the threads. */
static dm_status write_strip(storing *s, strip *one) {
  const dm_problem *p = &s->local->plan->problem;
  const int64_t row = s->row + one->at, rows = one->sums.rows, cols = one->sums.cols;
  one->stage = DM_STRIP_IS_WRITTEN;
  if (one->square > 0)
    dm_mirror(dm_view_sub(one->sums, 0, cols - one->square, rows, one->square), s->conjugates);
  one->out = one->finished ? dm_view_row_major(one->finished, p->c, rows, cols) : one->sums;
  atomic_store(&one->checksum, 0);
  if (s->sink->old_tiles) {
    one->old = some_rows(dm_old_of_tile(s->local, s->sink->old_tiles), row - s->of_c.begin, rows);
  } else if (p->reads_c) {
    one->old = dm_view_row_major(one->before, dm_dtype_widest(p->work), rows, cols);
    DM_TRY(dm_reader_read(s->sink->old, row, s->col, &one->old, 1, false));
  }
  const dm_prepare prepare = {.rows = finish_rows, .context = one};
  return dm_file_queue_write(s->sink->behind, s->sink->output, row, s->col, one->out, prepare,
                             &one->writing);
}

static dm_status move_on(storing *s, strip *one) {
  bool done = true;
  switch (one->stage) {
  case DM_STRIP_FREE:
    return s->next < s->sums.rows ? fetch(s, one) : DM_OK;
  case DM_STRIP_LANDS:
    if (one->arrived) DM_TRY(dm_backend_test(s->local->backend, one->arrived, &done));
    return done ? write_strip(s, one) : DM_OK;
  case DM_STRIP_IS_WRITTEN:
  case DM_STRIP_IS_MIRRORED:
    DM_TRY(dm_transfer_test(one->writing, &done));
    if (!done) return DM_OK;
    if (s->mirrors && one->stage == DM_STRIP_IS_WRITTEN && one->square < one->out.cols)
      return write_mirrored(s, one);
    dm_checkpoint_add(s->sink->checkpoint, s->tile, atomic_load(&one->checksum));
    if (is_summed_there(s)) s->sink->landed += atomic_load(&one->checksum);
    s->sink->written += one->out.rows * one->out.cols * dm_dtype_size(one->out.dtype);
    if (one->stage == DM_STRIP_IS_MIRRORED)
      s->sink->written += mirror_of(one).rows * one->out.rows * dm_dtype_size(one->out.dtype);
    one->stage = DM_STRIP_FREE;
    return DM_OK;
  }
  return DM_OK;
}

static bool is_done(const storing *s) {
  bool done = s->next == s->sums.rows;
  for (int i = 0; i < STRIPS; i++) done &= s->strips[i].stage == DM_STRIP_FREE;
  return done;
}

/* Progresses the storing of ROWS of this rank's sums in small steps: threads write meanwhile. The
 * sums must not change until they are written. */
static dm_status store_rows(dm_rank_state *local, dm_file_sink *sink, dm_range rows, bool *done) {
  *done = false;
  if (!sink->storing || !sink->storing->goes_on) return begin(local, sink, rows);
  storing *s = sink->storing;
  const int64_t before = dm_file_queue_moved(sink->behind);
  for (int i = 0; i < STRIPS; i++) DM_TRY(move_on(s, &s->strips[i]));
  if (dm_file_queue_moved(sink->behind) != before) dm_watch_moved(local->run->watch);
  *done = is_done(s);
  s->goes_on = !*done;
  /* Another tile may be computed there. */
  return *done && is_summed_there(s) ? dm_backend_settle(local->backend) : DM_OK;
}

static dm_status store(void *state, dm_rank_state *local, dm_range rows, bool *done) {
  dm_file_sink *sink = state;
  DM_TRY(store_rows(local, sink, rows, done));
  if (!*done || rows.end < dm_range_size(dm_rank_sums(local))) return DM_OK;
  return dm_checkpoint_stored(sink->checkpoint, local->tile);
}

static dm_status ready(void *state) {
  return dm_checkpoint_reserved(((dm_file_sink *)state)->checkpoint);
}

static dm_status compare(dm_file_sink *sink) {
  uint64_t left = 0;
  if (!sink->device_sum || !sink->storing) return DM_OK;
  DM_TRY(dm_device_sums_get(sink->storing->local->backend, &left, sink->device_sum, 1));
  sink->differs = left + sink->landed != 0;
  return DM_OK;
}

static dm_status settle(void *state) {
  dm_file_sink *sink = state;
  dm_file_queue_close(sink->behind);
  sink->behind = NULL;
  dm_status status = dm_checkpoint_flush(sink->checkpoint, false);
  status = dm_status_first(status, compare(sink));
  status = dm_status_first(status, dm_output_close(sink->output));
  sink->output = NULL;
  dm_checkpoint_watch(sink->checkpoint, NULL);
  return status;
}

static void close_storing(void *state, dm_rank_state *local) {
  dm_file_sink *sink = state;
  (void)local; /* the memory is LOCAL's */
  if (sink->storing) pthread_mutex_destroy(&sink->storing->checking);
  free(sink->storing);
  sink->storing = NULL;
}

const dm_sink_ops dm_sink_file = {.name = "file",
                                  .open = open_sum,
                                  .ready = ready,
                                  .store = store,
                                  .settle = settle,
                                  .close = close_storing};
