#include "reduce/reduction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/spill.h"
#include "reduce/reduction_impl.h"

static const struct {
  const char *word;
  const dm_reduce_ops *ops;
} reduction_kinds[] = {[DM_REDUCE_TOP] = {"top", &dm_reduce_top},
                       [DM_REDUCE_BEYOND] = {"above", &dm_reduce_beyond},
                       [DM_REDUCE_MAX] = {"max", &dm_reduce_number},
                       [DM_REDUCE_MIN] = {"min", &dm_reduce_number},
                       [DM_REDUCE_ARGMAX] = {"argmax", &dm_reduce_number},
                       [DM_REDUCE_ARGMIN] = {"argmin", &dm_reduce_number},
                       [DM_REDUCE_SUM] = {"sum", &dm_reduce_number},
                       [DM_REDUCE_MEAN] = {"mean", &dm_reduce_number},
                       [DM_REDUCE_NORM] = {"norm", &dm_reduce_number},
                       [DM_REDUCE_COUNT] = {"count", &dm_reduce_number},
                       [DM_REDUCE_DIAGONAL] = {"diagonal", &dm_reduce_number}};

const char *dm_reduce_by_name(dm_reduce_by by) {
  static const char *const names[] = {"value", "abs", "smallest"};
  return names[by];
}

const char *dm_reduction_word(const dm_reduction *what) {
  return what->kind == DM_REDUCE_BEYOND && what->below ? "below" : reduction_kinds[what->kind].word;
}

int dm_reduction_arrays(const dm_reduction *what, const char *names[DM_REDUCED_ARRAYS]) {
  static const char *const top[] = {"values", "indices"}, *const beyond[] = {"data", "indices",
                                                                             "indptr"};
  const bool is_top = what->kind == DM_REDUCE_TOP && !what->sparse,
             is_beyond = what->kind == DM_REDUCE_BEYOND || what->sparse;
  const int count = is_top ? 2 : is_beyond ? 3 : 1;
  for (int i = 0; i < count; i++)
    names[i] = is_top ? top[i] : is_beyond ? beyond[i] : reduction_kinds[what->kind].word;
  return count;
}

const char *dm_reduction_text(const dm_reduction *what, char text[DM_REDUCTION_TEXT]) {
  static const char *const by[] = {"", " by magnitude", ", smallest first"};
  const char *line = what->by_columns ? "column" : "row";
  const char *self = what->no_self ? ", without itself" : "";
  char number[32];
  snprintf(number, sizeof number, "%.15g", what->threshold);
  if (strtod(number, NULL) != what->threshold)
    snprintf(number, sizeof number, "%.17g", what->threshold);
  if (what->kind == DM_REDUCE_TOP)
    snprintf(text, DM_REDUCTION_TEXT, "top %lld of each %s%s%s", (long long)what->top, line,
             by[what->by], self);
  else if (what->kind == DM_REDUCE_BEYOND)
    snprintf(text, DM_REDUCTION_TEXT, "%s%s %s%s", what->by == DM_BY_MAGNITUDE ? "magnitudes " : "",
             what->below ? "below" : "above", number, self);
  else
    snprintf(text, DM_REDUCTION_TEXT, "%s of each %s%s", reduction_kinds[what->kind].word, line,
             self);
  return text;
}

/* ---- opening and closing ---- */

dm_status dm_reducer_new(const dm_reduction *what, int64_t lines, int64_t length, int64_t room,
                         const char *folder, dm_reducer **reducer) {
  dm_reducer *r;
  DM_TRY(dm_buffer_table(1, &r));
  r->what = *what;
  r->ops = reduction_kinds[what->kind].ops;
  r->lines = lines;
  r->length = length;
  r->room = room;
  r->folder = folder;
  r->threads = 1;
  dm_status status = r->ops->open(r, room);
  if (!status) {
    *reducer = r;
    return DM_OK;
  }
  dm_reducer_free(r);
  return status;
}

void dm_reducer_free(dm_reducer *reducer) {
  if (!reducer) return;
  reducer->ops->close(reducer);
  free(reducer);
}

/* ---- adding ---- */

/* A part of C whose lines are divided among threads: its rows, or, ACROSS, its columns. */
typedef struct reduction_adding {
  dm_reducer *reducer;
  dm_view part;
  int64_t row, col, step;
  bool across;
} reduction_adding;

/* Whether nothing of COUNT numbers from (i, j) of the part on is kept, which most often is so. */
static bool reducer_skips(const reduction_adding *a, int64_t i, int64_t j, int64_t count) {
  const dm_reducer *r = a->reducer;
  return r->ops->skips && a->part.dtype == DM_F32 && a->part.col_stride == 1 &&
         r->ops->skips(r, dm_view_at(a->part, i, j), count, a->across ? a->col + j : a->row + i,
                       a->across);
}

/* COUNT numbers from (i, j) of the part on. */
static dm_status reducer_add_piece(const reduction_adding *a, int slot, int64_t i, int64_t j,
                                   int64_t count) {
  dm_reducer *r = a->reducer;
  double values[DM_PIECE];
  const bool in_place = a->part.dtype == DM_F64 && a->part.col_stride == 1;
  const void *from = dm_view_at(a->part, i, j);
  if (!in_place) dm_load_wide(values, from, a->part.dtype, a->part.col_stride, count);
  const int64_t row = a->row + i, col = a->col + j;
  const dm_piece piece = {.values = in_place ? from : values,
                          .count = count,
                          .line = a->across ? col : row,
                          .index = a->across ? row : col,
                          .across = a->across,
                          .slot = slot};
  const int64_t self = row - col; /* place of the diagonal */
  if (!r->what.no_self || self < 0 || self >= count) return r->ops->add(r, &piece, &r->nans[slot]);
  dm_piece first = piece, second = piece;
  first.count = self;
  second.count = count - self - 1;
  second.values += self + 1;
  if (a->across)
    second.line += self + 1;
  else
    second.index += self + 1;
  if (first.count > 0) DM_TRY(r->ops->add(r, &first, &r->nans[slot]));
  return second.count > 0 ? r->ops->add(r, &second, &r->nans[slot]) : DM_OK;
}

static dm_status reducer_add_lines(void *context, int64_t slot) {
  const reduction_adding *a = context;
  const int64_t lines = a->across ? a->part.cols : a->part.rows;
  const int64_t begin = dm_min(slot * a->step, lines), end = dm_min(begin + a->step, lines);
  const int64_t rows[2] = {a->across ? 0 : begin, a->across ? a->part.rows : end};
  const int64_t cols[2] = {a->across ? begin : 0, a->across ? end : a->part.cols};
  const int64_t step = a->reducer->ops->skips ? DM_REDUCE_STRETCH : DM_PIECE;
  for (int64_t i = rows[0]; i < rows[1]; i++)
    for (int64_t j = cols[0]; j < cols[1]; j += step) {
      const int64_t count = dm_min(step, cols[1] - j);
      if (!reducer_skips(a, i, j, count)) DM_TRY(reducer_add_piece(a, (int)slot, i, j, count));
    }
  return DM_OK;
}

dm_status dm_reducer_add(dm_reducer *r, dm_view part, int64_t row, int64_t col, bool across,
                         int threads) {
  const int64_t lines = across ? part.cols : part.rows;
  r->threads = threads;
  if (dm_view_is_empty(part)) return DM_OK;
  const int64_t slots = dm_max(1, dm_min(dm_min(threads, DM_REDUCE_SLOTS), dm_ceil_div(lines, 8)));
  reduction_adding a = {.reducer = r, .part = part, .row = row, .col = col, .across = across};
  a.step = dm_round_up(dm_ceil_div(lines, slots), 8);
  return dm_fork_each(slots, (int)slots, reducer_add_lines, &a);
}

/* ---- the ranks ---- */

enum { TAG = 91 };

static dm_status reducer_send_states(const dm_comm *comm, const int64_t *sizes, int count,
                                     const dm_reduce_state *states) {
  dm_messages *messages;
  DM_TRY(dm_messages_new(&messages));
  dm_status status = dm_messages_send(messages, comm, sizes,
                                      (DM_REDUCE_STATES + 1) * (int64_t)sizeof *sizes, 0, TAG);
  for (int i = 0; i < count && !status; i++)
    if (states[i].bytes > 0)
      status = dm_messages_send(messages, comm, states[i].data, states[i].bytes, 0, TAG);
  if (!status) status = dm_messages_wait(messages);
  if (!status) dm_messages_free(messages);
  return status;
}

static dm_status reducer_receive(const dm_comm *comm, void *data, int64_t bytes, int peer) {
  dm_messages *messages;
  if (bytes == 0) return DM_OK;
  DM_TRY(dm_messages_new(&messages));
  dm_status status = dm_messages_receive(messages, comm, data, bytes, peer, TAG);
  if (!status) status = dm_messages_wait(messages);
  if (!status) dm_messages_free(messages);
  return status;
}

/* States of another rank or run: large ones on the disk that elements without room go to. */
typedef struct foreign_states {
  dm_reduce_state list[DM_REDUCE_STATES];
  dm_spill spills[DM_REDUCE_STATES];
} foreign_states;

static dm_status foreign_room(const dm_reducer *r, int i, int64_t bytes, foreign_states *s) {
  s->list[i].bytes = bytes;
  if (!r->folder || bytes <= r->room / 3)
    return dm_buffer_alloc(dm_max(1, bytes), &s->list[i].data);
  DM_TRY(dm_spill_grow(r->folder, bytes, &s->spills[i]));
  s->list[i].data = s->spills[i].base;
  return DM_OK;
}

static void foreign_free(foreign_states *s) {
  for (int i = 0; i < DM_REDUCE_STATES; i++) {
    if (!s->spills[i].file) free(s->list[i].data);
    dm_spill_free(&s->spills[i]);
  }
}

/* The states of PEER, and its NANS. */
static dm_status reducer_receive_states(const dm_reducer *r, const dm_comm *comm, int peer,
                                        foreign_states *states, int64_t *nans) {
  int64_t sizes[DM_REDUCE_STATES + 1];
  DM_TRY(reducer_receive(comm, sizes, sizeof sizes, peer));
  for (int i = 0; i < DM_REDUCE_STATES; i++) {
    DM_TRY(foreign_room(r, i, sizes[i], states));
    DM_TRY(reducer_receive(comm, states->list[i].data, sizes[i], peer));
  }
  *nans = sizes[DM_REDUCE_STATES];
  return DM_OK;
}

static dm_status reducer_send_own(dm_reducer *r, const dm_comm *comm) {
  dm_reduce_state states[DM_REDUCE_STATES] = {{.data = NULL}};
  int64_t sizes[DM_REDUCE_STATES + 1] = {0};
  const int count = r->ops->states(r, states);
  for (int i = 0; i < count; i++) sizes[i] = states[i].bytes;
  sizes[DM_REDUCE_STATES] = dm_reducer_nan(r);
  return reducer_send_states(comm, sizes, count, states);
}

/* One rank after the other, so that rank 0 holds two states at most. It receives from all of them,
 * whatever it makes of that; an error of a message ends the job. */
dm_status dm_reducer_join(dm_reducer *r, const dm_comm *comm) {
  const int rank = dm_comm_rank(comm), ranks = dm_comm_size(comm);
  DM_TRY(dm_comm_agree(comm, r->ops->settle(r)));
  dm_status status = DM_OK;
  for (int peer = 1; peer < ranks; peer++) {
    if (rank == peer) DM_TRY(reducer_send_own(r, comm));
    if (rank != 0) continue;
    foreign_states states = {.list = {{.data = NULL}}};
    int64_t nans = 0;
    dm_status received = reducer_receive_states(r, comm, peer, &states, &nans);
    if (!received && !status) status = r->ops->absorb(r, states.list);
    foreign_free(&states);
    if (received) return dm_status_first(received, status);
    r->nans[0] += nans;
  }
  return dm_comm_agree(comm, status);
}

dm_status dm_reducer_gather(dm_reducer *r, const dm_comm *comm) {
  DM_TRY(dm_reducer_join(r, comm));
  dm_status status = DM_OK;
  if (dm_comm_rank(comm) != 0) {
    r->ops->close(r);
    r->kept = NULL;
    memset(r->nans, 0, sizeof r->nans);
    status = r->ops->open(r, r->room);
  }
  return dm_comm_agree(comm, status);
}

/* ---- on a disk ---- */

dm_status dm_reducer_save(dm_reducer *r, dm_reducer_mover *write, void *context) {
  dm_reduce_state states[DM_REDUCE_STATES] = {{.data = NULL}};
  int64_t sizes[DM_REDUCE_STATES + 1] = {0};
  DM_TRY(r->ops->settle(r));
  const int count = r->ops->states(r, states);
  for (int i = 0; i < count; i++) sizes[i] = states[i].bytes;
  sizes[DM_REDUCE_STATES] = dm_reducer_nan(r);
  DM_TRY(write(context, sizes, sizeof sizes));
  for (int i = 0; i < count; i++)
    if (states[i].bytes > 0) DM_TRY(write(context, states[i].data, states[i].bytes));
  return DM_OK;
}

static dm_status reducer_read_states(const dm_reducer *r, const int64_t *sizes,
                                     foreign_states *states, dm_reducer_mover *read,
                                     void *context) {
  for (int i = 0; i < DM_REDUCE_STATES; i++) {
    DM_TRY(foreign_room(r, i, sizes[i], states));
    if (sizes[i] > 0) DM_TRY(read(context, states->list[i].data, sizes[i]));
  }
  return DM_OK;
}

dm_status dm_reducer_load(dm_reducer *r, dm_reducer_mover *read, void *context) {
  foreign_states states = {.list = {{.data = NULL}}};
  int64_t sizes[DM_REDUCE_STATES + 1];
  DM_TRY(read(context, sizes, sizeof sizes));
  dm_status status = reducer_read_states(r, sizes, &states, read, context);
  if (!status) status = r->ops->absorb(r, states.list);
  if (!status) r->nans[0] += sizes[DM_REDUCE_STATES];
  foreign_free(&states);
  return status;
}

/* ---- the result ---- */

int64_t dm_reducer_kept(const dm_reducer *r) {
  return r->ops->kept(r);
}

int64_t dm_reducer_bytes(const dm_reducer *r) {
  return r->ops->bytes(r);
}

int64_t dm_reducer_nan(const dm_reducer *r) {
  int64_t all = 0;
  for (int i = 0; i < DM_REDUCE_SLOTS; i++) all += r->nans[i];
  return all;
}

dm_status dm_reducer_result(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS],
                            int *count) {
  const char *names[DM_REDUCED_ARRAYS];
  DM_TRY(r->ops->result(r, type, arrays));
  *count = dm_reduction_arrays(&r->what, names);
  for (int i = 0; i < *count; i++) arrays[i].name = names[i];
  return DM_OK;
}
