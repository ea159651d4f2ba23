/* Elements beyond a threshold: lists of them, a list a slot, which are brought into the order of
 * lines and indices once, at the end. Lists that have no room in memory are in mapped files: parts
 * of C come by bands of lines, so that what is sorted is near in them. */
#include <math.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/spill.h"
#include "core/wide_vectors.h"
#include "reduce/reduction_impl.h"

typedef struct beyond_entry {
  int64_t line, index;
  double value;
} beyond_entry;

/* In memory, or where the system may move them to a disk. */
typedef struct beyond_list {
  beyond_entry *entry;
  int64_t count, room;
  dm_spill spill;
} beyond_list;

typedef struct beyond {
  beyond_list lists[DM_REDUCE_SLOTS]; /* the first has all, once they are settled */
  _Atomic int64_t count;              /* of all */
  int64_t most;
  bool stated; /* by the user */
  const char *folder;
  int64_t memory;        /* entries that have room there, */
  _Atomic int64_t taken; /* and those that lists have */
  void *values;
  int64_t *indices, *starts;
  dm_spill spilled[2]; /* values and indices, or nothing */
} beyond;

/* An element takes its entry, and a place in the sorted list and in the result. */
enum { REDUCTION_BYTES = 3 * (int)sizeof(beyond_entry) };

static dm_status beyond_open(dm_reducer *r, int64_t room) {
  beyond *b;
  DM_TRY(dm_buffer_table(1, &b));
  r->kept = b;
  b->memory = room / REDUCTION_BYTES;
  b->folder = r->folder;
  b->stated = r->what.most > 0 && (b->folder || r->what.most < b->memory);
  b->most = b->stated ? r->what.most : b->folder ? INT64_MAX / 64 : b->memory;
  return DM_OK;
}

/* Of memory, or SPILL's. */
static void beyond_free(void *memory, dm_spill *spill) {
  if (spill->base)
    dm_spill_free(spill);
  else
    free(memory);
}

static void beyond_drop(beyond_list *l) {
  beyond_free(l->entry, &l->spill);
  *l = (beyond_list){.entry = NULL};
}

/* BYTES in memory, or, if they have no room there beside the lists, in *SPILL. */
static dm_status beyond_allocate(const beyond *b, int64_t bytes, dm_spill *spill, void **memory) {
  if (!b->folder || b->count <= b->memory) return dm_buffer_alloc(dm_max(1, bytes), memory);
  DM_TRY(dm_spill_grow(b->folder, dm_max(1, bytes), spill));
  *memory = spill->base;
  return DM_OK;
}

static void beyond_close(dm_reducer *r) {
  beyond *b = r->kept;
  if (!b) return;
  for (int i = 0; i < DM_REDUCE_SLOTS; i++) beyond_drop(&b->lists[i]);
  beyond_free(b->values, &b->spilled[0]);
  beyond_free(b->indices, &b->spilled[1]);
  free(b->starts);
  free(b);
}

static dm_status beyond_too_many(const beyond *b) {
  return dm_hint(
      dm_fail(DM_E_FIT, "more than %lld elements are beyond the threshold", (long long)b->most),
      b->stated ? "--max-elements allows more, another threshold keeps fewer"
                : "more do not fit in memory: another threshold keeps fewer, and --memory "
                  "host=SIZE or more memory allows more");
}

/* On a disk from now on. */
static dm_status beyond_spill(const beyond *b, beyond_list *l, int64_t room) {
  const bool moves = !l->spill.base;
  DM_TRY(dm_spill_grow(b->folder, room * (int64_t)sizeof *l->entry, &l->spill));
  if (moves && l->count > 0) memcpy(l->spill.base, l->entry, (size_t)l->count * sizeof *l->entry);
  if (moves) free(l->entry);
  l->entry = l->spill.base;
  l->room = room;
  return DM_OK;
}

static dm_status beyond_grow(beyond *b, beyond_list *l, int64_t count) {
  const int64_t room = dm_max(count, dm_max(1024, l->room + l->room / 2));
  b->taken += room - l->room;
  if (b->folder && (l->spill.base || b->taken > b->memory)) return beyond_spill(b, l, room);
  beyond_entry *more = realloc(l->entry, (size_t)room * sizeof *more);
  if (!more) return dm_fail(DM_E_FIT, "no memory for %lld elements", (long long)room);
  l->entry = more;
  l->room = room;
  return DM_OK;
}

static dm_status beyond_append(beyond *b, beyond_list *l, beyond_entry new) {
  if (++b->count > b->most) return beyond_too_many(b);
  if (l->count == l->room) DM_TRY(beyond_grow(b, l, l->count + 1));
  l->entry[l->count++] = new;
  return DM_OK;
}

/* ---- adding ---- */

/* Whether any number is beyond, or NaN. */
DM_INLINE void exceeds_loop(const double *values, double threshold, bool magnitude, double sign,
                            int64_t count, bool *any) {
  int64_t met = 0;
  if (magnitude)
    for (int64_t i = 0; i < count; i++) met |= !(sign * fabs(values[i]) <= threshold);
  else
    for (int64_t i = 0; i < count; i++) met |= !(sign * values[i] <= threshold);
  *any = met != 0;
}

DM_BOTH_WIDTHS(exceeds,
               (const double *values, double threshold, bool magnitude, double sign, int64_t count,
                bool *any),
               (values, threshold, magnitude, sign, count, any))

/* The same of f32: whether none is. */
DM_INLINE void passes_by_loop(const float *values, float threshold, bool magnitude, float sign,
                              int64_t count, bool *all) {
  int32_t met = 0;
  if (magnitude)
    for (int64_t i = 0; i < count; i++) met |= !(sign * fabsf(values[i]) <= threshold);
  else
    for (int64_t i = 0; i < count; i++) met |= !(sign * values[i] <= threshold);
  *all = met == 0;
}

DM_BOTH_WIDTHS(passes_by,
               (const float *values, float threshold, bool magnitude, float sign, int64_t count,
                bool *all),
               (values, threshold, magnitude, sign, count, all))

static bool beyond_skips(const dm_reducer *r, const float *values, int64_t count, int64_t line,
                         bool across) {
  const double sign = r->what.below ? -1.0 : 1.0;
  bool all;
  (void)line, (void)across;
  passes_by(values, dm_reduce_below(sign * r->what.threshold), r->what.by == DM_BY_MAGNITUDE,
            (float)sign, count, &all);
  return all;
}

enum { REDUCTION_STRETCH = DM_REDUCE_STRETCH };

static dm_status beyond_add(dm_reducer *r, const dm_piece *p, int64_t *nans) {
  beyond *b = r->kept;
  const bool magnitude = r->what.by == DM_BY_MAGNITUDE;
  const double sign = r->what.below ? -1.0 : 1.0, threshold = sign * r->what.threshold;
  for (int64_t first = 0; first < p->count; first += REDUCTION_STRETCH) {
    const int64_t end = dm_min(first + REDUCTION_STRETCH, p->count);
    bool any;
    exceeds(p->values + first, threshold, magnitude, sign, end - first, &any);
    for (int64_t i = first; any && i < end; i++) {
      const double value = p->values[i], score = sign * (magnitude ? fabs(value) : value);
      if (isnan(value))
        ++*nans;
      else if (score > threshold)
        DM_TRY(beyond_append(b, &b->lists[p->slot],
                             (beyond_entry){dm_piece_line(p, i), dm_piece_index(p, i), value}));
    }
  }
  return DM_OK;
}

static dm_status beyond_take(dm_reducer *r, int64_t line, int64_t index, double value, int slot) {
  beyond *b = r->kept;
  const double score = r->what.by == DM_BY_MAGNITUDE ? fabs(value) : value;
  if (r->what.below ? !(score < r->what.threshold) : !(score > r->what.threshold)) return DM_OK;
  return beyond_append(b, &b->lists[slot], (beyond_entry){line, index, value});
}

static const float *beyond_limits(const dm_reducer *r) {
  (void)r;
  return NULL;
}

/* ---- ranks ---- */

/* All in one list. */
static dm_status beyond_settle(dm_reducer *r) {
  beyond *b = r->kept;
  beyond_list *all = &b->lists[0];
  if (b->count > all->room) DM_TRY(beyond_grow(b, all, b->count));
  for (int i = 1; i < DM_REDUCE_SLOTS; i++) {
    beyond_list *one = &b->lists[i];
    if (one->count > 0)
      memcpy(all->entry + all->count, one->entry, (size_t)one->count * sizeof *one->entry);
    all->count += one->count;
    b->taken -= one->room;
    beyond_drop(one);
  }
  return DM_OK;
}

static int beyond_states(dm_reducer *r, dm_reduce_state out[DM_REDUCE_STATES]) {
  beyond *b = r->kept;
  out[0] = (dm_reduce_state){b->lists[0].entry, b->lists[0].count * (int64_t)sizeof(beyond_entry)};
  return 1;
}

static dm_status beyond_absorb(dm_reducer *r, const dm_reduce_state in[DM_REDUCE_STATES]) {
  beyond *b = r->kept;
  beyond_list *all = &b->lists[0];
  const int64_t count = in[0].bytes / (int64_t)sizeof(beyond_entry);
  b->count += count;
  if (b->count > b->most) return beyond_too_many(b);
  if (b->count > all->room) DM_TRY(beyond_grow(b, all, b->count));
  if (count > 0) memcpy(all->entry + all->count, in[0].data, (size_t)in[0].bytes);
  all->count += count;
  return DM_OK;
}

/* ---- the result ---- */

static int64_t beyond_kept(const dm_reducer *r) {
  return ((const beyond *)r->kept)->count;
}

static int64_t beyond_bytes(const dm_reducer *r) {
  const beyond *b = r->kept;
  int64_t all = 0;
  for (int i = 0; i < DM_REDUCE_SLOTS; i++)
    if (!b->lists[i].spill.base) all += b->lists[i].room * (int64_t)sizeof(beyond_entry);
  return all;
}

static int compare_indices(const void *one, const void *other) {
  const int64_t a = ((const beyond_entry *)one)->index, b = ((const beyond_entry *)other)->index;
  return (a > b) - (a < b);
}

/* Moves the entries to their lines: *sorted, which the caller frees, or *SPILL. */
static dm_status beyond_sort(const dm_reducer *r, int64_t *starts, dm_spill *spill,
                             beyond_entry **sorted) {
  const beyond *b = r->kept;
  const beyond_list *all = &b->lists[0];
  DM_TRY(beyond_allocate(b, all->count * (int64_t)sizeof **sorted, spill, (void **)sorted));
  for (int64_t i = 0; i < all->count; i++) starts[all->entry[i].line + 1]++;
  for (int64_t i = 0; i < r->lines; i++) starts[i + 1] += starts[i];
  for (int64_t i = 0; i < all->count; i++) (*sorted)[starts[all->entry[i].line]++] = all->entry[i];
  for (int64_t i = r->lines; i > 0; i--) starts[i] = starts[i - 1];
  starts[0] = 0;
  for (int64_t i = 0; i < r->lines; i++)
    qsort(*sorted + starts[i], (size_t)(starts[i + 1] - starts[i]), sizeof **sorted,
          compare_indices);
  return DM_OK;
}

/* Values and indices of SORTED entries, and no others any more. */
static dm_status beyond_split(beyond *b, const beyond_entry *sorted, dm_dtype type) {
  const int64_t all = b->lists[0].count, size = dm_dtype_size(type);
  beyond_drop(&b->lists[0]);
  DM_TRY(beyond_allocate(b, all * size, &b->spilled[0], &b->values));
  DM_TRY(
      beyond_allocate(b, all * (int64_t)sizeof *b->indices, &b->spilled[1], (void **)&b->indices));
  for (int64_t i = 0; i < all; i++) {
    dm_store_wide((char *)b->values + i * size, type, 1, &sorted[i].value, 1);
    b->indices[i] = sorted[i].index;
  }
  return DM_OK;
}

static dm_status beyond_result(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS]) {
  beyond *b = r->kept;
  beyond_entry *sorted = NULL;
  dm_spill spill = {.base = NULL};
  const int64_t all = b->lists[0].count;
  DM_TRY(dm_buffer_table(r->lines + 1, &b->starts));
  dm_status status = beyond_sort(r, b->starts, &spill, &sorted);
  if (!status) status = beyond_split(b, sorted, type);
  beyond_free(sorted, &spill);
  DM_TRY(status);
  arrays[0] = (dm_array){.dtype = type, .rows = all, .data = b->values};
  arrays[1] = (dm_array){.dtype = DM_DTYPE_NONE, .rows = all, .data = b->indices};
  arrays[2] = (dm_array){.dtype = DM_DTYPE_NONE, .rows = r->lines + 1, .data = b->starts};
  return DM_OK;
}

const dm_reduce_ops dm_reduce_beyond = {beyond_open,   beyond_close,  beyond_skips,  beyond_add,
                                        beyond_take,   beyond_limits, beyond_settle, beyond_states,
                                        beyond_absorb, beyond_kept,   beyond_bytes,  beyond_result};
