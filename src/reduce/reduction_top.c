/* The best elements of each line: a heap a line, whose root is the worst element kept, so that most
 * elements need one comparison. */
#include <math.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/units.h"
#include "core/wide_vectors.h"
#include "reduce/reduction_impl.h"

typedef struct top_entry {
  double value;
  int64_t index;
} top_entry;

typedef struct top {
  int64_t room;              /* of each line: at most its length */
  top_entry *heap;           /* ROOM of each line */
  int64_t *used;             /* of these */
  double *limit;             /* score of the worst of a full line; NaN: it is not full */
  float *limit_f32;          /* not below that */
  void *values;              /* the result */
  int64_t *indices, *starts; /* STARTS of a sparse one */
} top;

/* Whether A is a better element than B: the order is total. */
static bool is_better(dm_reduce_by by, const top_entry *a, const top_entry *b) {
  const double one = dm_reduce_score(by, a->value), other = dm_reduce_score(by, b->value);
  return one > other || (one == other && a->index < b->index);
}

static dm_status top_open(dm_reducer *r, int64_t room) {
  top *t;
  DM_TRY(dm_buffer_table(1, &t));
  r->kept = t;
  t->room = dm_min(r->what.top, r->length);
  int64_t entries, bytes;
  char needs[32], has[32];
  if (dm_mul_overflows(r->lines, t->room, &entries) ||
      dm_mul_overflows(entries, 2 * (int64_t)sizeof(top_entry), &bytes))
    bytes = INT64_MAX;
  if (bytes > room)
    return dm_hint(dm_fail(DM_E_FIT, "the best %lld elements of %lld lines need %s, a rank has %s",
                           (long long)t->room, (long long)r->lines, dm_format_bytes(bytes, needs),
                           dm_format_bytes(room, has)),
                   "keep fewer of each line, or allow more memory (--memory host=SIZE)");
  DM_TRY(dm_buffer_alloc(dm_max(1, entries) * (int64_t)sizeof *t->heap, (void **)&t->heap));
  DM_TRY(dm_buffer_table(r->lines, &t->used));
  DM_TRY(dm_buffer_table(r->lines, &t->limit));
  DM_TRY(dm_buffer_table(r->lines, &t->limit_f32));
  for (int64_t i = 0; i < r->lines; i++) t->limit[i] = t->limit_f32[i] = NAN;
  return DM_OK;
}

static void top_close(dm_reducer *r) {
  top *t = r->kept;
  if (!t) return;
  free(t->heap);
  free(t->used);
  free(t->limit);
  free(t->limit_f32);
  free(t->values);
  free(t->indices);
  free(t->starts);
  free(t);
}

/* ---- heaps ---- */

static void top_swap(top_entry *a, top_entry *b) {
  const top_entry one = *a;
  *a = *b;
  *b = one;
}

static void top_rise(dm_reduce_by by, top_entry *heap, int64_t at) {
  for (int64_t up = (at - 1) / 2; at > 0 && is_better(by, &heap[up], &heap[at]);
       up = (at - 1) / 2) {
    top_swap(&heap[up], &heap[at]);
    at = up;
  }
}

static void top_sink(dm_reduce_by by, top_entry *heap, int64_t count, int64_t at) {
  for (int64_t worst;; at = worst) {
    const int64_t left = 2 * at + 1, right = left + 1;
    worst = at;
    if (left < count && is_better(by, &heap[worst], &heap[left])) worst = left;
    if (right < count && is_better(by, &heap[worst], &heap[right])) worst = right;
    if (worst == at) return;
    top_swap(&heap[worst], &heap[at]);
  }
}

static void top_keep(const dm_reducer *r, int64_t line, top_entry new) {
  top *t = r->kept;
  top_entry *heap = t->heap + line * t->room;
  const dm_reduce_by by = r->what.by;
  if (t->used[line] < t->room) {
    heap[t->used[line]] = new;
    top_rise(by, heap, t->used[line]++);
  } else if (is_better(by, &new, &heap[0])) {
    heap[0] = new;
    top_sink(by, heap, t->room, 0);
  }
  if (t->used[line] < t->room) return;
  t->limit[line] = dm_reduce_score(by, heap[0].value);
  t->limit_f32[line] = dm_reduce_below(t->limit[line]);
}

/* ---- adding ---- */

/* Whether any of COUNT numbers may be kept: NaN, in a number or a limit, says yes. An equal number
 * comes after the one kept, so it is not. STEP: 1, or 0 for one limit. */
DM_INLINE void passes_loop(dm_reduce_by by, const double *values, const double *limit, bool one,
                           int64_t count, bool *any) {
  int64_t most = 0;
  const double only = limit[0];
  if (by == DM_BY_VALUE && one)
    for (int64_t i = 0; i < count; i++) most |= !(values[i] <= only);
  else if (by == DM_BY_VALUE)
    for (int64_t i = 0; i < count; i++) most |= !(values[i] <= limit[i]);
  else if (by == DM_BY_LEAST)
    for (int64_t i = 0; i < count; i++) most |= !(-values[i] <= (one ? only : limit[i]));
  else
    for (int64_t i = 0; i < count; i++) most |= !(fabs(values[i]) <= (one ? only : limit[i]));
  *any = most != 0;
}

DM_BOTH_WIDTHS(passes,
               (dm_reduce_by by, const double *values, const double *limit, bool one, int64_t count,
                bool *any),
               (by, values, limit, one, count, any))

/* The same of f32: whether none may be. */
DM_INLINE void skips_loop(dm_reduce_by by, const float *values, const float *limit, bool one,
                          int64_t count, bool *all) {
  int32_t met = 0;
  const float only = limit[0], sign = by == DM_BY_LEAST ? -1.0f : 1.0f;
  if (by == DM_BY_MAGNITUDE)
    for (int64_t i = 0; i < count; i++) met |= !(fabsf(values[i]) <= (one ? only : limit[i]));
  else if (one)
    for (int64_t i = 0; i < count; i++) met |= !(sign * values[i] <= only);
  else
    for (int64_t i = 0; i < count; i++) met |= !(sign * values[i] <= limit[i]);
  *all = met == 0;
}

DM_BOTH_WIDTHS(skips,
               (dm_reduce_by by, const float *values, const float *limit, bool one, int64_t count,
                bool *all),
               (by, values, limit, one, count, all))

static bool top_skips(const dm_reducer *r, const float *values, int64_t count, int64_t line,
                      bool across) {
  bool all;
  skips(r->what.by, values, ((const top *)r->kept)->limit_f32 + line, !across, count, &all);
  return all;
}

enum { REDUCTION_TOP_STRETCH = DM_REDUCE_STRETCH };

static dm_status top_add(dm_reducer *r, const dm_piece *p, int64_t *nans) {
  top *t = r->kept;
  for (int64_t first = 0; first < p->count; first += REDUCTION_TOP_STRETCH) {
    const int64_t end = dm_min(first + REDUCTION_TOP_STRETCH, p->count);
    bool any;
    passes(r->what.by, p->values + first, t->limit + dm_piece_line(p, first), !p->across,
           end - first, &any);
    for (int64_t i = first; any && i < end; i++) {
      const int64_t line = dm_piece_line(p, i);
      if (isnan(p->values[i]))
        ++*nans;
      else if (!(dm_reduce_score(r->what.by, p->values[i]) <= t->limit[line]))
        top_keep(r, line, (top_entry){p->values[i], dm_piece_index(p, i)});
    }
  }
  return DM_OK;
}

/* The order in which elements come does not matter: of equal ones the lower index is kept. */
static dm_status top_take(dm_reducer *r, int64_t line, int64_t index, double value, int slot) {
  (void)slot;
  top_keep(r, line, (top_entry){value, index});
  return DM_OK;
}

static const float *top_limits(const dm_reducer *r) {
  return ((const top *)r->kept)->limit_f32;
}

/* ---- ranks ---- */

static dm_status top_settle(dm_reducer *r) {
  (void)r;
  return DM_OK;
}

static int top_states(dm_reducer *r, dm_reduce_state list[DM_REDUCE_STATES]) {
  top *t = r->kept;
  list[0] = (dm_reduce_state){t->used, r->lines * (int64_t)sizeof *t->used};
  list[1] = (dm_reduce_state){t->heap, r->lines * t->room * (int64_t)sizeof *t->heap};
  return 2;
}

static dm_status top_absorb(dm_reducer *r, const dm_reduce_state list[DM_REDUCE_STATES]) {
  const top *t = r->kept;
  const int64_t *used = list[0].data;
  const top_entry *heap = list[1].data;
  for (int64_t line = 0; line < r->lines; line++)
    for (int64_t i = 0; i < used[line]; i++) top_keep(r, line, heap[line * t->room + i]);
  return DM_OK;
}

/* ---- the result ---- */

static int64_t top_kept(const dm_reducer *r) {
  const top *t = r->kept;
  int64_t all = 0;
  for (int64_t line = 0; line < r->lines; line++) all += t->used[line];
  return all;
}

static int64_t top_bytes(const dm_reducer *r) {
  const top *t = r->kept;
  return r->lines * (t->room * (int64_t)sizeof *t->heap +
                     (int64_t)(sizeof *t->used + sizeof *t->limit + sizeof *t->limit_f32));
}

/* Sorts a heap: best first. */
static void top_sort(dm_reduce_by by, top_entry *heap, int64_t count) {
  for (int64_t end = count - 1; end > 0; end--) {
    top_swap(&heap[0], &heap[end]);
    top_sink(by, heap, end, 0);
  }
}

/* A sparse matrix of what lines have, in the place of all. */
static dm_status top_pack(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS]) {
  top *t = r->kept;
  const int64_t size = dm_dtype_size(type);
  DM_TRY(dm_buffer_table(r->lines + 1, &t->starts));
  for (int64_t line = 0; line < r->lines; line++) {
    const int64_t from = line * t->room, to = t->starts[line], some = t->used[line];
    memmove((char *)t->values + to * size, (char *)t->values + from * size, (size_t)(some * size));
    memmove(t->indices + to, t->indices + from, (size_t)some * sizeof *t->indices);
    t->starts[line + 1] = to + some;
  }
  const int64_t all = t->starts[r->lines];
  arrays[0] = (dm_array){.dtype = type, .rows = all, .data = t->values};
  arrays[1] = (dm_array){.dtype = DM_DTYPE_NONE, .rows = all, .data = t->indices};
  arrays[2] = (dm_array){.dtype = DM_DTYPE_NONE, .rows = r->lines + 1, .data = t->starts};
  return DM_OK;
}

enum { TOP_LINES = 256 }; /* of a thread's turn */

/* The result of some lines. */
typedef struct top_sorting {
  const dm_reducer *reducer;
  dm_dtype type;
} top_sorting;

static dm_status top_sort_lines(void *context, int64_t turn) {
  const top_sorting *s = context;
  const dm_reducer *r = s->reducer;
  const top *t = r->kept;
  const int64_t size = dm_dtype_size(s->type), end = dm_min((turn + 1) * TOP_LINES, r->lines);
  const double none = dm_dtype_is_integer(s->type) ? 0.0 : NAN;
  for (int64_t line = turn * TOP_LINES; line < end; line++) {
    top_entry *heap = t->heap + line * t->room;
    top_sort(r->what.by, heap, t->used[line]);
    for (int64_t i = 0; i < t->room; i++) {
      const bool is = i < t->used[line];
      const int64_t at = line * t->room + i;
      dm_store_wide((char *)t->values + at * size, s->type, 1, is ? &heap[i].value : &none, 1);
      t->indices[at] = is ? heap[i].index : -1;
    }
  }
  return DM_OK;
}

static dm_status top_result(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS]) {
  top *t = r->kept;
  const int64_t all = r->lines * t->room, size = dm_dtype_size(type);
  top_sorting s = {r, type};
  DM_TRY(dm_buffer_alloc(dm_max(1, all) * size, &t->values));
  DM_TRY(dm_buffer_alloc(dm_max(1, all) * (int64_t)sizeof *t->indices, (void **)&t->indices));
  DM_TRY(dm_fork_each(dm_ceil_div(r->lines, TOP_LINES), r->threads, top_sort_lines, &s));
  if (r->what.sparse) return top_pack(r, type, arrays);
  arrays[0] = (dm_array){.dtype = type, .rows = r->lines, .cols = t->room, .data = t->values};
  arrays[1] =
      (dm_array){.dtype = DM_DTYPE_NONE, .rows = r->lines, .cols = t->room, .data = t->indices};
  return DM_OK;
}

const dm_reduce_ops dm_reduce_top = {top_open,   top_close,  top_skips,  top_add,
                                     top_take,   top_limits, top_settle, top_states,
                                     top_absorb, top_kept,   top_bytes,  top_result};
