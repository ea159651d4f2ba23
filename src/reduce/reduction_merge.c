/* Adds elements of a part of C that were found elsewhere, on a GPU: each slot has some lines, sorts
 * their elements by line, so that what is kept of a line is near while it changes, and takes them.
 */
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "reduce/reduction_impl.h"

bool dm_reducer_sieve(const dm_reducer *r, dm_sieve *sieve) {
  const bool beyond = r->what.kind == DM_REDUCE_BEYOND;
  if (!r->ops->take) return false;
  *sieve = (dm_sieve){.score = {.magnitude = r->what.by == DM_BY_MAGNITUDE,
                                .negative = r->what.by == DM_BY_LEAST || (beyond && r->what.below)},
                      .left_out = {.self = r->what.no_self},
                      .limit = NAN};
  if (beyond)
    sieve->limit = dm_reduce_below(r->what.below ? -r->what.threshold : r->what.threshold);
  return true;
}

const float *dm_reducer_limits(const dm_reducer *r) {
  return r->ops->limits(r);
}

int64_t dm_reducer_most(const dm_reducer *r) {
  return r->what.kind == DM_REDUCE_TOP ? r->what.top : 0;
}

void dm_reducer_add_nans(dm_reducer *r, int64_t nans) {
  r->nans[0] += nans;
}

enum { MERGE_CHUNKS = 64 };

/* Elements go from LIST to SORTED, where those of each slot's lines are together. */
typedef struct reduction_merging {
  dm_reducer *reducer;
  const dm_candidate *list;
  dm_candidate *sorted;
  int64_t count, row, col;
  bool across;
  int64_t step, slots;                       /* lines of a slot; slots */
  int64_t at[MERGE_CHUNKS][DM_REDUCE_SLOTS]; /* how many elements of a chunk of LIST, then where */
  int64_t begin[DM_REDUCE_SLOTS + 1];        /* of slots in SORTED */
} reduction_merging;

static int64_t merging_line(const reduction_merging *m, const dm_candidate *one) {
  return m->across ? one->col : one->row;
}

/* Whether its line may keep it: it may have passed the sieve for the other one. */
static bool merging_passes(const reduction_merging *m, const dm_candidate *one) {
  const dm_reducer *r = m->reducer;
  const float *limits = r->ops->limits(r);
  const int64_t line = (m->across ? m->col : m->row) + merging_line(m, one);
  return !limits || !(dm_reduce_score(r->what.by, one->value) <= (double)limits[line]);
}

static int64_t merging_first(const reduction_merging *m, int64_t chunk) {
  return m->count * chunk / MERGE_CHUNKS;
}

static dm_status merging_count(void *context, int64_t chunk) {
  reduction_merging *m = context;
  const int64_t end = merging_first(m, chunk + 1);
  for (int64_t i = merging_first(m, chunk); i < end; i++)
    if (merging_passes(m, &m->list[i])) m->at[chunk][merging_line(m, &m->list[i]) / m->step]++;
  return DM_OK;
}

static void merging_place(reduction_merging *m) {
  int64_t all = 0;
  for (int64_t slot = 0; slot < m->slots; slot++) {
    m->begin[slot] = all;
    for (int chunk = 0; chunk < MERGE_CHUNKS; chunk++) {
      const int64_t count = m->at[chunk][slot];
      m->at[chunk][slot] = all;
      all += count;
    }
  }
  m->begin[m->slots] = all;
}

static dm_status merging_sort(void *context, int64_t chunk) {
  reduction_merging *m = context;
  const int64_t end = merging_first(m, chunk + 1);
  for (int64_t i = merging_first(m, chunk); i < end; i++)
    if (merging_passes(m, &m->list[i]))
      m->sorted[m->at[chunk][merging_line(m, &m->list[i]) / m->step]++] = m->list[i];
  return DM_OK;
}

static dm_status merging_take(void *context, int64_t slot) {
  const reduction_merging *m = context;
  dm_reducer *r = m->reducer;
  for (int64_t i = m->begin[slot]; i < m->begin[slot + 1]; i++) {
    const int64_t row = m->row + m->sorted[i].row, col = m->col + m->sorted[i].col;
    DM_TRY(r->ops->take(r, m->across ? col : row, m->across ? row : col, m->sorted[i].value,
                        (int)slot));
  }
  return DM_OK;
}

dm_status dm_reducer_merge(dm_reducer *r, const dm_candidate *list, int64_t count,
                           dm_candidate *scratch, int64_t row, int64_t col, bool across,
                           int threads) {
  DM_FREED reduction_merging *m = NULL;
  int64_t lines = 0;
  r->threads = threads;
  if (count == 0) return DM_OK;
  DM_TRY(dm_buffer_table(1, &m));
  m->reducer = r;
  m->list = list;
  m->sorted = scratch;
  m->count = count;
  m->row = row;
  m->col = col;
  m->across = across;
  for (int64_t i = 0; i < count; i++) lines = dm_max(lines, merging_line(m, &list[i]) + 1);
  m->step = dm_max(8, dm_ceil_div(lines, DM_REDUCE_SLOTS));
  m->slots = dm_ceil_div(lines, m->step);
  DM_TRY(dm_fork_each(MERGE_CHUNKS, threads, merging_count, m));
  merging_place(m);
  DM_TRY(dm_fork_each(MERGE_CHUNKS, threads, merging_sort, m));
  return dm_fork_each(m->slots, threads, merging_take, m);
}
