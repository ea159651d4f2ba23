#include "engine/share_sums.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/fork_join.h"
#include "io/checksum.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum { AT_ONCE = 4 << 20 }; /* bytes that are worth a thread */

static int64_t place_of(const dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  return dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels), local->tile,
                          panel - local->panels.begin);
}

/* Rows that threads hash; the sum is the same in any order. */
typedef struct rows {
  dm_view of;
  int64_t each; /* that a thread takes at a time */
  _Atomic int64_t next;
  atomic_uint_least64_t sum;
} rows;

static void hash_rows(void *context) {
  rows *r = context;
  const int64_t bytes = r->of.cols * dm_dtype_size(r->of.dtype);
  uint64_t sum = 0;
  for (;;) {
    const int64_t first = atomic_fetch_add(&r->next, r->each);
    if (first >= r->of.rows) break;
    for (int64_t i = first; i < dm_min(first + r->each, r->of.rows); i++)
      sum += dm_checksum_bytes(dm_view_at(r->of, i, 0), bytes, (uint64_t)i);
  }
  atomic_fetch_add(&r->sum, sum);
}

static uint64_t sum_of(dm_view piece) {
  const int64_t bytes = dm_max(1, piece.cols * dm_dtype_size(piece.dtype));
  rows all = {.of = piece, .each = dm_max(1, AT_ONCE / bytes)};
  (void)dm_fork_join((int)dm_min(dm_cores(), dm_ceil_div(piece.rows, all.each)), hash_rows, &all);
  return atomic_load(&all.sum);
}

/* What is multiplied in the page cache was never brought anywhere. */
static bool holds(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_residence(local->plan, matrix) == DM_IN_HOST && !local->mapped[matrix].base;
}

dm_status dm_share_sums_open(const dm_rank_state *local, dm_share_sums *sums) {
  *sums = (dm_share_sums){0};
  if (local->coords.idle) return DM_OK;
  for (int x = 0; x < 2; x++) {
    const dm_matrix matrix = (dm_matrix)x;
    if (!holds(local, matrix)) continue;
    const int64_t places = dm_plan_places(local->plan, matrix, dm_range_size(local->panels));
    DM_TRY(dm_buffer_table(places, &sums->sums[x]));
    DM_TRY(dm_buffer_table(places, &sums->taken[x]));
  }
  return DM_OK;
}

void dm_share_sums_close(dm_share_sums *sums) {
  for (int x = 0; x < 2; x++) {
    free(sums->sums[x]);
    free(sums->taken[x]);
  }
  *sums = (dm_share_sums){0};
}

void dm_share_sums_take(dm_share_sums *sums, const dm_rank_state *local, dm_matrix matrix,
                        int64_t panel) {
  const dm_view piece = dm_rank_piece(local, matrix, panel);
  if (!sums->taken[matrix] || !holds(local, matrix) || piece.space != DM_HOST) return;
  const int64_t place = place_of(local, matrix, panel);
  sums->sums[matrix][place] = sum_of(piece);
  sums->taken[matrix][place] = true;
}

static dm_status count_changed(const dm_share_sums *sums, dm_rank_state *local, dm_matrix matrix,
                               int64_t *changed) {
  for (int64_t i = 0; i < dm_plan_todo(local->plan) && sums->taken[matrix]; i++) {
    const int64_t t = dm_plan_todo_tile(local->plan, i);
    if (!dm_plan_is_first(local->plan, matrix, t)) continue;
    dm_rank_turn_to(local, t);
    for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
      const int64_t place = place_of(local, matrix, p);
      if (!sums->taken[matrix][place]) continue;
      *changed += sum_of(dm_rank_piece(local, matrix, p)) != sums->sums[matrix][place];
      DM_TRY(dm_run_beat(local->run));
    }
  }
  return DM_OK;
}

dm_status dm_share_sums_compare(const dm_share_sums *sums, dm_rank_state *local,
                                int64_t changed[2]) {
  const double start = dm_now();
  changed[0] = changed[1] = 0;
  dm_status status = count_changed(sums, local, DM_A, &changed[0]);
  if (!status) status = count_changed(sums, local, DM_B, &changed[1]);
  DM_TRY(dm_comm_agree(local->run->world, status));
  DM_TRY(dm_comm_sum_i64(local->run->world, changed, 2));
  local->phases.check += dm_now() - start;
  return DM_OK;
}
