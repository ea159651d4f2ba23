#include "bench/bench_home.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/fill.h"
#include "plan/partition.h"
#include "plan/tiles.h"

enum { TILE_STEP = 256 }; /* bytes, as in plan/buffers */

bool dm_bench_home_brings(const dm_plan *plan) {
  return dm_plan_brings(plan, DM_A) || dm_plan_brings(plan, DM_B);
}

bool dm_bench_home_takes(const dm_plan *plan) {
  return dm_plan_returns(plan) || plan->problem.c != plan->problem.accumulator;
}

static dm_status copy(const dm_bench_home *home, dm_view dst, dm_view src) {
  dm_event copied;
  if (dm_view_is_empty(src)) return DM_OK;
  DM_TRY(dm_backend_copy(home->local->backend, dst, src, &copied));
  return dm_backend_wait(home->local->backend, copied);
}

/* ---- operands ---- */

/* For dm_memory_source. */
static dm_view piece_at_home(void *context, const dm_rank_state *local, dm_matrix matrix,
                             int64_t panel) {
  (void)context;
  return dm_memory_piece(local, matrix, panel);
}

static dm_status take_pieces(dm_bench_home *home, dm_matrix matrix) {
  dm_rank_state *local = home->local;
  DM_TRY(dm_memory_pieces_take(local, matrix));
  for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
    const dm_view piece = dm_memory_piece(local, matrix, p),
                  share = dm_rank_piece(local, matrix, p);
    if (piece.base != share.base) DM_TRY(copy(home, piece, share));
  }
  return DM_OK;
}

/* ---- C ---- */

/* On the GPU if C leaves the block only for its type and the sums are there. */
static dm_space space_of(const dm_plan *plan) {
  const bool summed_on_host = plan->pk > 1 && !plan->device_links;
  return plan->gpu && !summed_on_host && !dm_plan_returns(plan) ? DM_DEVICE : DM_HOST;
}

static dm_range rows_of(const dm_rank_state *local) {
  return dm_plan_c_share(local->plan, local->tile, local->coords.i, local->coords.l);
}

static int64_t stride_of(const dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  return space_of(plan) == DM_HOST ? local->c.cols
                                   : dm_device_stride(local->c.cols, plan->problem.c);
}

dm_view dm_bench_home_part(const dm_bench_home *home) {
  const dm_rank_state *local = home->local;
  if (!home->c) return (dm_view){0};
  return dm_view_strided(home->c + home->at[local->tile], local->plan->problem.c,
                         space_of(local->plan), dm_range_size(rows_of(local)), local->c.cols,
                         stride_of(local));
}

/* For dm_memory_sink. */
static dm_view part_at_home(void *context, const dm_rank_state *local) {
  (void)local;
  return dm_bench_home_part(context);
}

static dm_status place_tiles(dm_bench_home *home, int64_t *all) {
  dm_rank_state *local = home->local;
  *all = 0;
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    int64_t bytes;
    dm_rank_turn_to(local, t);
    DM_TRY(dm_bytes_of(dm_range_size(rows_of(local)), stride_of(local),
                       dm_dtype_size(local->plan->problem.c), &bytes));
    home->at[t] = *all;
    if (dm_add_overflows(*all, dm_round_up(bytes, TILE_STEP), all))
      return dm_fail(DM_E_FIT, "the size of C overflows 64 bits");
  }
  return DM_OK;
}

static dm_status take_result(dm_bench_home *home) {
  dm_rank_state *local = home->local;
  int64_t bytes;
  if (!dm_bench_home_takes(local->plan)) return DM_OK;
  DM_TRY(dm_buffer_zeroed(dm_plan_tiles(local->plan), sizeof *home->at, (void **)&home->at));
  DM_TRY(place_tiles(home, &bytes));
  return dm_rank_memory_take_bytes(
      &local->memory, dm_plan_returns(local->plan) ? DM_BUFFER_HOME_C : DM_BUFFER_ROUNDED, bytes,
      (void **)&home->c);
}

/* The memory of the sums or, with several tiles, as many rows of the block. */
static dm_view landing_of(const dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  if (plan->pk > 1 && dm_plan_tiles(plan) == 1 && local->c_sum.base) return local->c_sum;
  return dm_view_sub(local->c, 0, 0, dm_range_size(rows_of(local)), local->c.cols);
}

dm_status dm_bench_home_show(dm_bench_home *home, dm_view *c, dm_range *rows) {
  if (!home->c) {
    *c = dm_rank_result(home->local, rows);
    return DM_OK;
  }
  *rows = rows_of(home->local);
  *c = landing_of(home->local);
  return copy(home, *c, dm_bench_home_part(home));
}

/* ---- both ---- */

dm_status dm_bench_home_open(dm_rank_state *local, dm_bench_home *home) {
  *home = (dm_bench_home){.local = local};
  home->source = (dm_memory_source){.piece = piece_at_home, .context = home};
  home->sink = (dm_memory_sink){.part = part_at_home, .context = home};
  if (local->coords.idle) return DM_OK;
  DM_TRY(take_pieces(home, DM_A));
  DM_TRY(take_pieces(home, DM_B));
  return take_result(home);
}

void dm_bench_home_close(dm_bench_home *home) {
  if (!home->local) return;
  free(home->at);
  home->local = NULL;
}

static const dm_generator other = {.kind = DM_CONSTANT, .parameter = 3.0};

static dm_status spoil_operand(const dm_bench_home *home, dm_matrix matrix) {
  const dm_rank_state *local = home->local;
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
    if (!dm_plan_brings(local->plan, matrix)) break;
    const int slot = (int)((p - local->panels.begin) % local->plan->slots);
    DM_TRY(dm_backend_fill(local->backend, dm_rank_piece(local, matrix, p), &other, 0, 0));
    if (factor->route.operand == DM_DEVICE_RING)
      DM_TRY(dm_backend_fill(local->backend, dm_rank_slot(local, matrix, DM_DEVICE_RING, p, slot),
                             &other, 0, 0));
  }
  return DM_OK;
}

dm_status dm_bench_home_spoil(dm_bench_home *home) {
  dm_rank_state *local = home->local;
  if (local->coords.idle) return DM_OK;
  DM_TRY(spoil_operand(home, DM_A));
  DM_TRY(spoil_operand(home, DM_B));
  for (int64_t t = 0; t < dm_plan_tiles(local->plan) && home->c; t++) {
    dm_rank_turn_to(local, t);
    DM_TRY(dm_backend_fill(local->backend, landing_of(local), &other, 0, 0));
    DM_TRY(dm_backend_fill(local->backend, dm_bench_home_part(home), &other, 0, 0));
  }
  return DM_OK;
}
